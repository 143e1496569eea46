// What both APIs of the openai SDK share.

import OpenAI from "openai";

import { KEY, SERVER, TIMEOUT } from "./constants.mjs";

export const client = new OpenAI({ baseURL: `${SERVER}/v1`, apiKey: KEY, maxRetries: 0, timeout: TIMEOUT });

export const ERRORS = [
  [400, OpenAI.BadRequestError],
  [401, OpenAI.AuthenticationError],
  [403, OpenAI.PermissionDeniedError],
  [404, OpenAI.NotFoundError],
  [409, OpenAI.ConflictError],
  [422, OpenAI.UnprocessableEntityError],
  [429, OpenAI.RateLimitError],
  [500, OpenAI.InternalServerError],
  [503, OpenAI.InternalServerError],
];
