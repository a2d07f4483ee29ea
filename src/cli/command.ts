/**
 * What a subcommand of `agl` is, and how it reads its arguments.
 *
 * @module
 */
import { type ParseArgsConfig, parseArgs } from "node:util";
import { AglError } from "../errors.ts";

/** What a command may touch of the process. */
export interface CommandLine {
  stdout(text: string): void;
  stderr(text: string): void;
  env: Readonly<Record<string, string | undefined>>;
  /** Calls `listener` at each SIGINT and SIGTERM. */
  onStop(listener: (signal: NodeJS.Signals) => void): void;
  exit(code: number): void;
}

/** A subcommand. */
export interface Command {
  /** One line for the list of commands. */
  summary: string;
  /** Text of `agl <name> --help`. */
  help: string;
  /** Runs until it is done; an error ends the process. */
  run(args: readonly string[], line: CommandLine): Promise<void>;
}

type Options = NonNullable<ParseArgsConfig["options"]>;

/** Reads options. @throws AglError `invalid_argument` for one that is not known, lacks its value or is a bare word. */
export function readOptions<O extends Options>(args: readonly string[], options: O) {
  try {
    return parseArgs({ args: [...args], options, strict: true, allowPositionals: false }).values;
  } catch (cause) {
    const message = cause instanceof Error ? (cause.message.split("\n")[0] as string) : String(cause);
    throw new AglError("invalid_argument", message, { cause });
  }
}
