import { expect, test } from "vitest";
import { createLogger, LOG_LEVELS } from "../../src/server/log.ts";

test.each([
  [undefined, ["info", "warn", "error"]],
  ["debug", ["debug", "info", "warn", "error"]],
  ["error", ["error"]],
] as const)("at level %s it writes %j", (level, expected) => {
  const lines: string[] = [];
  const logger = createLogger({
    ...(level && { level }),
    write: (line) => void lines.push(line),
    now: () => 0,
  });
  for (const each of LOG_LEVELS) logger[each]("text\nwith a break", { each });
  expect(lines).toEqual(
    expected.map(
      (each) =>
        `${JSON.stringify({ time: "1970-01-01T00:00:00.000Z", level: each, message: "text\nwith a break", each })}\n`,
    ),
  );
});
