/**
 * The shapes of the tables of templates and cached files. Part of `tables.ts`, which says
 * what holds for all of them.
 */
import type { Flag } from './email-tables.js'

export interface TemplatesTable {
  id: string
  workspace_id: string
  name: string
  subject: string
  html: string | null
  text: string | null
  /** JSON list: as the client gave it; null: it gave none. */
  listed_variables: string | null
  /** JSON list: those that were listed, and those that are used beyond. */
  variables: string
  /** Octets of both bodies. */
  size: number
  /** Grows with every change, so that of two at once one sees the other. */
  version: number
  created_at: number
  updated_at: number
}

/** A file that was uploaded to be sent later. */
export interface CachedFilesTable {
  workspace_id: string
  /** What nobody can guess: `file_cache_key`. */
  key: string
  name: string
  content_type: string
  /** Of the chunks that are there. */
  size: number
  /** 0: it is still coming in, or was cut off. */
  complete: Flag
  created_at: number
  used_at: number
}

export interface CachedFileChunksTable {
  workspace_id: string
  key: string
  /** From 0. */
  place: number
  bytes: Buffer
}

/** Octets that a cached file counts beside its own size: what the triggers of its migration say. */
export const CACHED_FILE_ROW_BYTES = 4096

/** What the cached files of a workspace count together: kept by triggers. */
export interface CachedFileTotalsTable {
  workspace_id: string
  bytes: number
}
