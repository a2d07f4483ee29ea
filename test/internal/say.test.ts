import { type DiagLogger, diag } from "@opentelemetry/api";
import { afterEach, expect, test, vi } from "vitest";
import { say } from "../../src/internal/say.ts";

afterEach(() => {
  diag.disable();
  vi.restoreAllMocks();
});

test("without a logger the console says it, once for each kind", () => {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
  say("error", "a-kind", "first");
  say("error", "a-kind", "second");
  say("warn", "other-kind", "third");
  expect(warn.mock.calls).toEqual([["agentlightning: first"], ["agentlightning: third"]]);
});

test("with a logger the console stays silent, and the logger hears every one", () => {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
  const heard: string[] = [];
  const note = (text: string) => void heard.push(text);
  const logger: DiagLogger = { error: note, warn: note, info() {}, debug() {}, verbose() {} };
  diag.setLogger(logger, { suppressOverrideMessage: true });
  say("error", "b-kind", "first");
  say("warn", "b-kind", "second");
  expect(heard).toEqual(["agentlightning: first", "agentlightning: second"]);
  expect(warn).not.toHaveBeenCalled();
});

test("a logger that throws disturbs nobody", () => {
  const fail = () => {
    throw new Error("logger");
  };
  const logger: DiagLogger = { error: fail, warn: fail, info() {}, debug() {}, verbose() {} };
  diag.setLogger(logger, { suppressOverrideMessage: true });
  expect(() => say("error", "c-kind", "x")).not.toThrow();
});
