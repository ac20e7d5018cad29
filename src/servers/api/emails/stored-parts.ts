/**
 * The templates and cached files that one request uses.
 *
 * A request of a few bytes can refer to many megabytes. They count against a memory budget, in total
 * and for each workspace, until the email is on disk. A file that several emails of a request use is
 * read once.
 */

import { Refusal } from '../../../base/mail/refusal.js'
import type { MemoryShares } from '../../../base/platform/memory/shares.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import type { Write } from '../../../base/storage/db/write.js'
import type { ContentFiller } from '../../../outbound/sending/template-content.js'
import { type CachedFile, findFile, readFileBytes, recordFileUse } from '../../../workspaces/content/cached-files.js'
import type { ParsedTemplate } from '../../../workspaces/content/render-template.js'
import type { TemplateCache } from '../../../workspaces/content/template-cache.js'
import { notFound } from '../http/input/values.js'

interface StoredPartsDeps {
  readonly read: Read
  readonly templates: TemplateCache
  readonly filler: ContentFiller
  /** Memory for stored parts, by workspace. */
  readonly memory: MemoryShares
}

export interface StoredParts extends ContentFiller {
  /** Throws a Refusal `template-not-found`. */
  readonly requireTemplate: (id: string) => ParsedTemplate
  /** `field` is the field of the request. Throws a Refusal `invalid-parameter`. */
  readonly requireFile: (field: string, key: string) => CachedFile
  readonly readBytes: (field: string, file: CachedFile) => Promise<Buffer>
  /** Counts bytes that stay in memory until `release`. Throws a Refusal `unavailable`. */
  readonly hold: (bytes: number) => void
  /** Records the use of the files, for the commit of the emails. */
  readonly usageWrites: () => readonly Write[]
  /** Call it once. */
  readonly release: () => void
}

export function createStoredParts(
  { read, templates, filler, memory }: StoredPartsDeps,
  workspaceId: string,
  now: number,
): StoredParts {
  const own = memory.forOwner(workspaceId)
  const used = new Map<string, { readonly file: CachedFile; readonly bytes: Buffer }>()
  let held = 0

  return {
    fillTemplate: filler.fillTemplate,
    requireTemplate: (id) => {
      const found = templates.find(workspaceId, id)
      if (found === undefined) throw notFound('template-not-found', 'template', id)
      return found
    },
    requireFile: (field, key) =>
      used.get(key)?.file ?? findFile(read, { workspaceId, key }) ?? refuseUnknownFile(field, key),
    readBytes: async (field, file) => {
      const known = used.get(file.key)
      if (known !== undefined) return known.bytes
      const bytes = (await readFileBytes(read, file)) ?? refuseUnknownFile(field, file.key)
      used.set(file.key, { file, bytes })
      return bytes
    },
    hold: (bytes) => {
      if (!own.acquire(bytes)) {
        throw new Refusal('unavailable', 'too many large emails are being composed, try again later', {
          retry_after: 1,
        })
      }
      held += bytes
    },
    usageWrites: () => [...used.values()].flatMap(({ file }) => recordFileUse(file, now)),
    release: () => {
      if (held > 0) own.release(held)
    },
  }
}

function refuseUnknownFile(field: string, key: string): never {
  const message = `${field}.file_cache_key: no such file`
  throw new Refusal('invalid-parameter', message, { field: `${field}.file_cache_key`, value: key })
}
