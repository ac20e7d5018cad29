/**
 * The SQLite binding: the one place that names the package `better-sqlite3` as a value.
 *
 * Version 13 brings a binary for every Node.js with Node-API 10 (22.14 and later). Node.js 20 has no Node-API 10; there
 * version 12 runs, which is compiled for it (`scripts/build-sqlite`). From Node.js 24.19 on version 12 would abort.
 */
import { createRequire } from 'node:module'
import type BetterSqlite from 'better-sqlite3'

const NODE_API_OF_13 = 10

/** The types of the binding, under the name of the value. */
export namespace SQLite {
  export type Database = BetterSqlite.Database
  export type Statement<Parameters extends unknown[] = unknown[], Row = unknown> = BetterSqlite.Statement<
    Parameters,
    Row
  >
}

/** The package for a Node.js. `nodeApi`: as `process.versions.napi`. */
export function choosePackage(nodeApi: string | undefined): 'better-sqlite3' | 'better-sqlite3-13' {
  return Number(nodeApi ?? 0) >= NODE_API_OF_13 ? 'better-sqlite3-13' : 'better-sqlite3'
}

export const SQLite: typeof BetterSqlite = createRequire(import.meta.url)(choosePackage(process.versions['napi']))
