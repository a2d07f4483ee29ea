/**
 * The SQLite that this runtime has: Node's own, else the package better-sqlite3.
 *
 * @module
 */
import { createRequire } from "node:module";
import { AglError } from "../errors.ts";

/** A value that can be bound to a statement. */
export type SqliteValue = string | number | Uint8Array | null;

/** A prepared statement, as both libraries have it. */
export interface SqliteStatement {
  run(...values: SqliteValue[]): { changes: number | bigint };
  get(...values: SqliteValue[]): unknown;
  all(...values: SqliteValue[]): unknown[];
}

/** An open database file, as both libraries have it. */
export interface SqliteDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): SqliteStatement;
  close(): unknown;
}

/** An open file, and where another thread finds the library that opened it: the name or path of a CommonJS module. */
export interface OpenedDatabase {
  db: SqliteDatabase;
  module: string;
}

/** Which library; `auto` takes the first that there is, in this order. */
export type SqliteLibrary = "node:sqlite" | "better-sqlite3";

const LIBRARIES: Readonly<Record<SqliteLibrary, (path: string) => OpenedDatabase>> = {
  "node:sqlite"(path) {
    // Not an import: Node before 22.5 has no such module, and bundlers would look for it.
    const module = process.getBuiltinModule?.("node:sqlite") as
      | { DatabaseSync: new (path: string) => SqliteDatabase }
      | undefined;
    if (module === undefined)
      throw new AglError("unsupported", `Node ${process.versions.node} has no node:sqlite`);
    return { db: new module.DatabaseSync(path), module: "node:sqlite" };
  },
  "better-sqlite3"(path) {
    try {
      const require = createRequire(import.meta.url);
      const Database = require("better-sqlite3") as new (path: string) => SqliteDatabase;
      return { db: new Database(path), module: require.resolve("better-sqlite3") };
    } catch (error) {
      const { code, message } = error as { code?: unknown; message: string };
      // What SQLite itself says is about the file. All else is about the package: missing, or built for another Node.
      if (typeof code === "string" && code.startsWith("SQLITE_")) throw error;
      const reason =
        code === "MODULE_NOT_FOUND"
          ? "the package better-sqlite3 is not installed"
          : `the package better-sqlite3 does not load (${message.split("\n")[0]}); run: npm rebuild better-sqlite3`;
      throw new AglError("unsupported", reason, { cause: error });
    }
  },
};

/** Opens the file at `path`; throws `unsupported` when no library is there, and the library's own error otherwise. */
export function openDatabase(path: string, library: SqliteLibrary | "auto" = "auto"): OpenedDatabase {
  const names = library === "auto" ? (Object.keys(LIBRARIES) as SqliteLibrary[]) : [library];
  const reasons: string[] = [];
  for (const name of names) {
    try {
      return LIBRARIES[name](path);
    } catch (error) {
      if (!AglError.is(error)) throw error;
      reasons.push(error.message);
    }
  }
  throw new AglError(
    "unsupported",
    `No SQLite for ${path}: ${reasons.join("; ")}. Use Node 22.13 or newer, or run: npm install better-sqlite3@12`,
  );
}
