/**
 * Parsed templates, cached in memory, because most sends use the same few.
 *
 * We drop a template that we change, and drop all when another process has changed any. Limit: 16 MB, by the
 * memory of their pieces. The least recently used go first.
 */
import { RecordCache } from '../../base/platform/record-cache.js'
import type { Read } from '../../base/storage/db/prepared.js'
import type { FollowsTables } from '../../base/storage/db/table-changes.js'
import type { ParsedTemplate } from './render-template.js'
import { parseTemplateText, type TemplateText } from './template-text.js'
import { type Template, templateById } from './templates.js'

const MAX_CACHE_BYTES = 16 * 1_048_576
/** Bytes that a template and each of its pieces take in addition to the text. */
const TEMPLATE_OVERHEAD = 1_000
const PIECE_OVERHEAD = 64

/**
 * `find` rejects with a Refusal `invalid-parameter` for a template that has too many variables, because it was stored
 * before variables had a limit.
 */
export class TemplateCache extends RecordCache<ParsedTemplate | undefined> implements FollowsTables {
  readonly follows = ['templates'] as const

  constructor(
    private readonly read: Read,
    maxBytes = MAX_CACHE_BYTES,
  ) {
    super({ max: maxBytes, weightOf: weightOfTemplate })
  }

  protected async load(workspaceId: string, id: string): Promise<ParsedTemplate | undefined> {
    const [row] = await templateById(this.read, { workspaceId, id })
    return row === undefined ? undefined : parseTemplate(row)
  }
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

function weightOfTemplate({ subject, html, text }: ParsedTemplate): number {
  return [subject, html, text].reduce((sum, part) => sum + (part === null ? 0 : weightOf(part)), TEMPLATE_OVERHEAD)
}

function weightOf({ literalBytes, pieces }: TemplateText): number {
  return literalBytes + pieces.length * PIECE_OVERHEAD
}
