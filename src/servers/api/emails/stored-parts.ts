/**
 * The templates and cached files that one request uses.
 *
 * A request of a few bytes can refer to many megabytes. They count against a memory budget, in total
 * and for each workspace, until the email is on disk. A file that several emails of a request use is
 * read once.
 */

import { Refusal } from '../../../base/mail/refusal.js'
import type { ReservableMemory } from '../../../base/platform/memory/reservation.js'
import type { MemoryShares } from '../../../base/platform/memory/shares.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import type { Write } from '../../../base/storage/db/write.js'
import type { ContentFiller, FilledContent, TemplateUse } from '../../../outbound/sending/template-content.js'
import { type CachedFile, findFile, readFileBytes, recordFileUse } from '../../../workspaces/content/cached-files.js'
import type { ParsedTemplate } from '../../../workspaces/content/render-template.js'
import type { TemplateCache } from '../../../workspaces/content/template-cache.js'
import { templateIdByAlias } from '../../../workspaces/content/templates.js'
import { notFound } from '../http/input/values.js'

export interface StoredPartsDeps {
  readonly read: Read
  readonly templates: TemplateCache
  readonly filler: ContentFiller
  /** Memory for stored parts, by workspace. */
  readonly memory: MemoryShares
}

export class StoredParts {
  private readonly memory: ReservableMemory
  private readonly used = new Map<string, { readonly file: CachedFile; readonly bytes: Buffer }>()
  private held = 0

  constructor(
    private readonly deps: StoredPartsDeps,
    private readonly workspaceId: string,
    private readonly now: number,
  ) {
    this.memory = deps.memory.forOwner(workspaceId)
  }

  /** Throws a Refusal `template-not-found`. */
  async requireTemplate(id: string): Promise<ParsedTemplate> {
    const found = await this.deps.templates.find(this.workspaceId, id)
    if (found === undefined) throw notFound('template-not-found', 'template', id)
    return found
  }

  /** `name` is its alias, or its id. Throws a Refusal `template-not-found`. */
  async requireTemplateByAlias(name: string): Promise<ParsedTemplate> {
    const [row] = await templateIdByAlias(this.deps.read, { workspaceId: this.workspaceId, alias: name })
    return this.requireTemplate(row?.id ?? name)
  }

  fillTemplate(use: Omit<TemplateUse, 'workspaceId'>): Promise<FilledContent> {
    return this.deps.filler.fillTemplate({ ...use, workspaceId: this.workspaceId })
  }

  /** `field` is the field of the request. Throws a Refusal `invalid-parameter`. */
  async requireFile(field: string, key: string): Promise<CachedFile> {
    const { workspaceId } = this
    const known = this.used.get(key)?.file ?? (await findFile(this.deps.read, { workspaceId, key }))
    return known ?? refuseUnknownFile(field, key)
  }

  async readBytes(field: string, file: CachedFile): Promise<Buffer> {
    const known = this.used.get(file.key)
    if (known !== undefined) return known.bytes
    const bytes = (await readFileBytes(this.deps.read, file)) ?? refuseUnknownFile(field, file.key)
    this.used.set(file.key, { file, bytes })
    return bytes
  }

  /** Counts bytes that stay in memory until `release`. Throws a Refusal `unavailable`. */
  hold(bytes: number): void {
    if (!this.memory.acquire(bytes)) {
      const message = 'too many large emails are being composed, try again later'
      throw new Refusal('unavailable', message, { retry_after: 1 })
    }
    this.held += bytes
  }

  /** Records the use of the files, for the commit of the emails. */
  usageWrites(): readonly Write[] {
    return [...this.used.values()].flatMap(({ file }) => recordFileUse(file, this.now))
  }

  /** Call it once. */
  release(): void {
    if (this.held > 0) this.memory.release(this.held)
  }
}

function refuseUnknownFile(field: string, key: string): never {
  const message = `${field}.file_cache_key: no such file`
  throw new Refusal('invalid-parameter', message, { field: `${field}.file_cache_key`, value: key })
}
