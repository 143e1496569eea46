// Shared by all SDKs: the gateway's address and the upstream's responses, which are
// defined in ../upstream/script.py.

export const GATEWAY = process.env.MAJORDOMO_URL;
export const KEY = process.env.MAJORDOMO_KEY;
export const UPSTREAMS = ["chat", "responses", "messages", "gemini", "ollama"];
export const TIMEOUT = 30_000;

export const TEXT = 'Grüße, 你好 🎩\n"quoted" \\ done.';
export const REFUSED = "the upstream was told to fail";
export const WEATHER = "get_weather";
export const SCHEMA = {
  type: "object",
  properties: { city: { type: "string" }, days: { type: "integer" } },
  required: ["city"],
};

// A red pixel.
export const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC",
  "base64",
);
