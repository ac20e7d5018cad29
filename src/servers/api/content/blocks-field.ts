/** The field `blocks` of templates and broadcasts: a mail as a document, of which the server makes the HTML. */
import { z } from 'zod'
import { type Json, parseJson } from '../../../base/storage/tables/columns.js'
import type { StoredBlocks } from '../../../base/storage/tables/content-tables.js'
import type { CompiledBlocks } from '../../../outbound/sending/compose-thread.js'
import { rule } from '../http/input/field-rules.js'
import { moment } from '../http/input/values.js'

const example = {
  type: 'doc',
  content: [
    { type: 'heading', attrs: { level: 1 }, content: [{ type: 'text', text: 'News in May' }] },
    { type: 'button', attrs: { label: 'Read it', href: 'https://example.com/may' } },
  ],
}

/** `readBlocks` checks it, and says which node is wrong. */
const given = z.record(z.string(), z.unknown(), 'must be a document: {"type": "doc", "content": […]}').meta({
  id: 'MailBlocksRequest',
  description: 'A mail in blocks, of which `html` is made. Give either `blocks` or `html`.',
  example,
  override: {
    type: 'object',
    properties: {
      type: { type: 'string', const: 'doc' },
      content: { type: 'array', items: { type: 'object', additionalProperties: true } },
    },
    required: ['type', 'content'],
    additionalProperties: false,
  },
})

export const blocksRequest = given.nullable()

/** The document that is stored, with all attributes. */
export const blocksAnswer = z
  .strictObject({ type: z.literal('doc'), content: z.array(z.record(z.string(), z.unknown())) })
  .meta({ id: 'MailBlocks', description: 'The document of which `html` was made.', example })
  .nullable()

/** `html` and `blocks` are two sources of the same body. `blocks: null` says that the HTML is the source from now on. */
export const oneSource = rule(
  ({ html, blocks }) => isMissing(html) || isMissing(blocks),
  'blocks',
  'html is made of them: give either blocks or html',
)

function isMissing(value: unknown): boolean {
  return value === undefined || value === null
}

/** The time of the last change that the client knows. */
export const ifUpdatedAt = moment.optional().meta({
  description: 'The `updated_at` that you have read. If there is another one now, the answer is 409 `conflict`.',
})

export interface BlockCompiler {
  compileBlocks(workspaceId: string, given: unknown): Promise<CompiledBlocks>
}

interface Source {
  readonly html?: string | null | undefined
  readonly blocks?: Readonly<Record<string, unknown>> | null | undefined
}

export interface CompiledSource {
  readonly html: string | null | undefined
  readonly blocks: StoredBlocks | null | undefined
}

/**
 * The columns that the source of a request sets. HTML that is given takes the place of a document, and the reverse.
 * Rejects with the refusals of `compileBlocks`.
 */
export async function compileSource(
  compiler: BlockCompiler,
  workspaceId: string,
  { html, blocks }: Source,
): Promise<CompiledSource> {
  if (blocks !== undefined && blocks !== null) return compiler.compileBlocks(workspaceId, blocks)
  return { html, blocks: html === undefined ? blocks : null }
}

/** The document of an answer. */
export function showBlocks(blocks: StoredBlocks | null): z.output<typeof blocksAnswer> {
  return blocks === null ? null : { type: 'doc', content: blocks.content.map((block) => ({ ...block })) }
}

export function showStoredBlocks(blocks: Json<StoredBlocks> | null): z.output<typeof blocksAnswer> {
  return showBlocks(blocks === null ? null : parseJson(blocks))
}
