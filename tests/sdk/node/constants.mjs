// Shared by all SDKs: the server's address and its responses. The same
// constants are in crates/wire/examples/sdk_server/scenarios.rs.

export const SERVER = process.env.MAJORDOMO_SDK_SERVER;
export const TEXT = 'Grüße, 你好 🎩\n"quoted" \\ done.';
export const PARIS = { city: "Paris", days: 3 };
export const OSLO = { city: "Zoë's \"Oslo\"", days: 1 };
export const WEATHER_SCHEMA = {
  type: "object",
  properties: { city: { type: "string" }, days: { type: "integer" } },
  required: ["city"],
};
export const CITY_SCHEMA = {
  type: "object",
  properties: { city: { type: "string" }, population: { type: "integer" } },
  required: ["city", "population"],
  additionalProperties: false,
};
export const KEY = "sk-canary-not-a-key";
export const TIMEOUT = 10_000;

// A red pixel.
export const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC",
  "base64",
);
