/**
 * Creates and changes templates: their limits, and the list of their variables.
 *
 * `variables` has those that the client lists, in their order, then those that the texts use and the list lacks. It
 * never has our variable `unsubscribe_url`.
 *
 * Limit: n concurrent requests may exceed the maximum number of templates by n - 1.
 */
import { Refusal } from '../../base/mail/refusal.js'
import { formatTimestamp } from '../../base/platform/clock.js'
import { uuidv7 } from '../../base/platform/ids.js'
import type { Store } from '../../base/storage/db/database.js'
import { ConstraintViolated, tryCommit } from '../../base/storage/db/write.js'
import { parseJson, toJson } from '../../base/storage/tables/columns.js'
import type { StoredBlocks } from '../../base/storage/tables/content-tables.js'
import { listVariableNames, parseTemplateText, type TemplateText, UNSUBSCRIBE_URL } from './template-text.js'
import {
  countTemplates,
  insertTemplate,
  MAX_TEMPLATES,
  type Template,
  templateById,
  updateTemplate,
} from './templates.js'

interface TemplateRequest {
  readonly name: string
  /** Unique in the workspace. Null for none. */
  readonly alias: string | null
  readonly subject: string
  readonly html: string | null
  readonly text: string | null
  /** The document of which `html` was made. Null if the HTML was written. */
  readonly blocks: StoredBlocks | null
  /** Null means the variables that the texts use. */
  readonly variables: readonly string[] | null
}

/** 1 MB for both bodies together. */
export const MAX_TEMPLATE_BYTES = 1_048_576
/** Different variables of a template. */
export const MAX_VARIABLES = 1_000
/** Different defaults of a template's variables. We fill in and escape each once. */
const MAX_DEFAULTS = 1_000
/** Bytes of all names as JSON, which lists of templates show completely. */
const MAX_VARIABLE_BYTES = 65_536

/** Throws a Refusal: `invalid-parameter`, `conflict`. */
export async function createTemplate(
  { read, commit }: Store,
  workspaceId: string,
  request: TemplateRequest,
  now: number,
): Promise<Template> {
  const content = buildContent(request)
  const count = (await countTemplates(read, { workspaceId }))[0]?.count ?? 0
  if (count >= MAX_TEMPLATES) {
    throw new Refusal('conflict', `a workspace may have at most ${MAX_TEMPLATES} templates`, {
      limit: MAX_TEMPLATES,
      count,
    })
  }
  const row = { ...content, id: uuidv7(now), workspace_id: workspaceId, version: 1, created_at: now, updated_at: now }
  await refuseTakenAlias(commit([insertTemplate(row)]), row)
  return row
}

/**
 * Undefined fields stay unchanged. Null means that there is no such template. With `expected`, the time of the last
 * change that the client knows, a template with another one is refused: `conflict`.
 */
export async function changeTemplate(
  { read, commit }: Store,
  templateRef: { readonly workspaceId: string; readonly id: string },
  change: { readonly [Field in keyof TemplateRequest]?: TemplateRequest[Field] | undefined },
  now: number,
  expected?: number,
): Promise<Template | null> {
  for (;;) {
    const [row] = await templateById(read, templateRef)
    if (row === undefined) return null
    checkUnchanged(row.updated_at, expected)
    const version = row.version + 1
    const changed = {
      ...row,
      ...buildContent({ ...toRequest(row), ...dropUndefined(change) }),
      version,
      updated_at: now,
    }
    const committed = refuseTakenAlias(commit([updateTemplate({ ...changed, before: row.version })]), changed)
    if (await tryCommit(committed)) return changed
    // Another change came first, so we apply this one on top of it.
  }
}

/**
 * Throws a Refusal `conflict` if the last change was at another time than the client knows, so that two people or two
 * tabs do not overwrite each other. Undefined means that the client knows none.
 */
export function checkUnchanged(updatedAt: number, expected: number | undefined): void {
  if (expected === undefined || expected === updatedAt) return
  const message = 'if_updated_at: it was changed by somebody else, or in another tab: load it again'
  throw new Refusal('conflict', message, {
    field: 'if_updated_at',
    value: formatTimestamp(expected),
    updated_at: formatTimestamp(updatedAt),
  })
}

/** Rejects with a Refusal `conflict` if another template of the workspace has the alias. */
function refuseTakenAlias(committed: Promise<void>, { alias }: Pick<Template, 'alias'>): Promise<void> {
  return committed.catch((error: unknown) => {
    if (alias === null || !(error instanceof ConstraintViolated)) throw error
    const message = `alias: another template of the workspace has "${alias}"`
    throw new Refusal('conflict', message, { field: 'alias', value: alias })
  })
}

function toRequest({ name, alias, subject, html, text, blocks, listed_variables: listed }: Template): TemplateRequest {
  const document = blocks === null ? null : parseJson(blocks)
  const variables = listed === null ? null : parseJson(listed)
  return { name, alias, subject, html, text, blocks: document, variables }
}

function dropUndefined(
  change: { readonly [Field in keyof TemplateRequest]?: TemplateRequest[Field] | undefined },
): Partial<TemplateRequest> {
  return Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined))
}

type ContentColumns = Pick<
  Template,
  'name' | 'alias' | 'subject' | 'html' | 'text' | 'blocks' | 'listed_variables' | 'variables' | 'size'
>

function buildContent({
  name,
  alias,
  subject,
  html,
  text,
  blocks,
  variables: listed,
}: TemplateRequest): ContentColumns {
  const size = Buffer.byteLength(html ?? '') + Buffer.byteLength(text ?? '')
  const document = blocks === null ? null : toJson(blocks)
  if (size > MAX_TEMPLATE_BYTES) {
    const message = `html and text have ${size} bytes together, allowed: ${MAX_TEMPLATE_BYTES}`
    throw new Refusal('invalid-parameter', message, { field: html === null ? 'text' : 'html', value: size })
  }
  const texts = [
    parseTemplateText('subject', subject),
    parseTemplateText('html', html ?? ''),
    parseTemplateText('text', text ?? ''),
  ]
  checkDefaults(texts)
  const used = listVariableNames(texts)
  const variables = [...new Set([...(listed ?? []), ...used])].filter((variable) => variable !== UNSUBSCRIBE_URL)
  if (variables.length > MAX_VARIABLES) {
    const message = `has ${variables.length} variables, allowed: ${MAX_VARIABLES}`
    throw new Refusal('invalid-parameter', `variables: ${message}`, { field: 'variables', value: variables.length })
  }
  const json = toJson(variables)
  const bytes = Buffer.byteLength(json)
  if (bytes > MAX_VARIABLE_BYTES) {
    const message = `the names have ${bytes} bytes together, allowed: ${MAX_VARIABLE_BYTES}`
    throw new Refusal('invalid-parameter', `variables: ${message}`, { field: 'variables', value: bytes })
  }
  return {
    ...{ name, alias, subject, html, text, blocks: document },
    size: size + Buffer.byteLength(document ?? ''),
    listed_variables: listed === null ? null : toJson([...new Set(listed)]),
    variables: json,
  }
}

function checkDefaults(texts: readonly TemplateText[]): void {
  const defaults = texts.reduce((sum, text) => sum + countDefaults(text), 0)
  if (defaults <= MAX_DEFAULTS) return
  const message = `has ${defaults} different defaults of variables, allowed: ${MAX_DEFAULTS}`
  throw new Refusal('invalid-parameter', `variables: ${message}`, { field: 'variables', value: defaults })
}

/** A default counts once, whether its variable is in a URL or not. */
function countDefaults({ uses }: TemplateText): number {
  const withDefault = [...uses.keys()].filter(({ fallback }) => fallback !== null)
  return new Set(withDefault.map(({ name, raw, fallback }) => `${raw} ${name} ${fallback}`)).size
}
