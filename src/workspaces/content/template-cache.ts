/**
 * Parsed templates, cached in memory, since most sends use the same few.
 *
 * A template that we change is dropped; all are dropped when another process may have changed any.
 * Limit: 16 MB, by the memory of their pieces; the least recently used are dropped first.
 */
import { createLruCache } from '../../base/platform/lru-cache.js'
import type { Read } from '../../base/storage/db/prepared.js'
import type { ParsedTemplate } from './render-template.js'
import { parseTemplateText, type TemplateText } from './template-text.js'
import { type Template, templateById } from './templates.js'

export interface TemplateCache {
  /** Throws a Refusal `invalid-parameter` for one that was stored when variables had no limit, and has too many. */
  readonly find: (workspaceId: string, id: string) => ParsedTemplate | undefined
  readonly forget: (workspaceId: string, id: string) => void
  readonly drop: () => void
}

const MAX_CACHE_BYTES = 16 * 1_048_576
/** Bytes that a template and each of its pieces take beside the text. */
const TEMPLATE_OVERHEAD = 1_000
const PIECE_OVERHEAD = 64

interface CacheEntry {
  readonly template: ParsedTemplate
  readonly weight: number
}

export function createTemplateCache({ read }: { readonly read: Read }, maxBytes = MAX_CACHE_BYTES): TemplateCache {
  const entries = createLruCache<CacheEntry>({ max: maxBytes, weightOf: ({ weight }) => weight })
  return {
    find: (workspaceId, id) => {
      const key = keyOf(workspaceId, id)
      const cached = entries.get(key)
      if (cached !== undefined) return cached.template
      const entry = readTemplate(read, workspaceId, id)
      if (entry !== undefined) entries.set(key, entry)
      return entry?.template
    },
    forget: (workspaceId, id) => {
      entries.delete(keyOf(workspaceId, id))
    },
    drop: () => entries.clear(),
  }
}

function keyOf(workspaceId: string, id: string): string {
  return `${workspaceId} ${id}`
}

function readTemplate(read: Read, workspaceId: string, id: string): CacheEntry | undefined {
  const [row] = templateById(read, { workspaceId, id })
  return row === undefined ? undefined : toCacheEntry(parseTemplate(row))
}

export function parseTemplate({
  id,
  subject,
  html,
  text,
}: Pick<Template, 'id' | 'subject' | 'html' | 'text'>): ParsedTemplate {
  return {
    id,
    subject: parseTemplateText('subject', subject),
    html: html === null ? null : parseTemplateText('html', html),
    text: text === null ? null : parseTemplateText('text', text),
  }
}

function toCacheEntry(template: ParsedTemplate): CacheEntry {
  const { subject, html, text } = template
  const weight = [subject, html, text].reduce(
    (sum, part) => sum + (part === null ? 0 : weightOf(part)),
    TEMPLATE_OVERHEAD,
  )
  return { template, weight }
}

function weightOf({ literalBytes, pieces }: TemplateText): number {
  return literalBytes + pieces.length * PIECE_OVERHEAD
}
