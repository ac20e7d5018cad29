/**
 * Creates and changes drafts from what a client gives for a broadcast, and checks the rules over several fields.
 *
 * A draft has its own subject and bodies, or uses a template as it is when the broadcast is sent.
 */

import { formatForDisplay } from '../../base/mail/address.js'
import type { NamedAddress } from '../../base/mail/named-address.js'
import { Refusal } from '../../base/mail/refusal.js'
import { uuidv7 } from '../../base/platform/ids.js'
import type { Store } from '../../base/storage/db/database.js'
import type { Read } from '../../base/storage/db/prepared.js'
import { tryCommit, type Write } from '../../base/storage/db/write.js'
import { parseJson, toJson } from '../../base/storage/tables/columns.js'
import type { StoredBlocks } from '../../base/storage/tables/content-tables.js'
import { requireAudience } from '../../workspaces/audiences/audiences.js'
import { checkUnchanged } from '../../workspaces/content/change-template.js'
import { templateById } from '../../workspaces/content/templates.js'
import { parseBroadcastContent } from './broadcast-content.js'
import { countBroadcasts, requireBroadcast } from './broadcast-list.js'
import {
  type Broadcast,
  type BroadcastRef,
  changeDraft,
  type DraftColumns,
  insertDraft,
  restrictDraft,
} from './broadcast-records.js'
import { buildStateConflict } from './change-broadcast.js'

/** The most broadcasts of a workspace, including sent ones. */
const MAX_BROADCASTS = 10_000

export interface Draft {
  readonly name: string
  readonly audienceId: string
  readonly from: NamedAddress
  readonly replyTo: readonly NamedAddress[]
  readonly subject: string | null
  readonly html: string | null
  readonly text: string | null
  /** The document of which `html` was made. Null if the HTML was written. */
  readonly blocks: StoredBlocks | null
  readonly templateId: string | null
}

export interface NewDraft extends Draft {
  /** The broadcast that its recipients got and did not open. Absent if it goes to the whole audience. */
  readonly notOpenedOf?: string | undefined
}

export type DraftChange = { readonly [Field in keyof Draft]?: Draft[Field] | undefined }

/** Subject, bodies and template as they come in a request: each may be of any type, or missing. */
interface Words {
  readonly subject?: unknown
  readonly html?: unknown
  readonly text?: unknown
  readonly blocks?: unknown
  readonly template_id?: unknown
}

interface WordRule {
  readonly field: keyof Words
  readonly kind: 'missing-field' | 'invalid-parameter'
  readonly message: string
  readonly holds: (words: Words) => boolean
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== null && value !== ''

/** All rules are checked, even if one of them fails. */
export const wordRules: readonly WordRule[] = [
  {
    field: 'subject',
    kind: 'missing-field',
    message: 'is required, unless there is template_id',
    holds: ({ subject, template_id }) => isGiven(subject) || isGiven(template_id),
  },
  {
    field: 'text',
    kind: 'missing-field',
    message: 'is required, unless there is html, blocks or template_id',
    holds: ({ html, text, blocks, template_id }) => [html, text, blocks, template_id].some(isGiven),
  },
  {
    field: 'template_id',
    kind: 'invalid-parameter',
    message: 'has subject, html and text already: give either a template or these',
    holds: ({ subject, html, text, blocks, template_id }) =>
      !isGiven(template_id) || ![subject, html, text, blocks].some(isGiven),
  },
]

/** Throws a Refusal: what is wrong with the draft, `audience-not-found`, `template-not-found`, or `conflict`. */
export async function createDraft(
  { read, commit }: Store,
  workspaceId: string,
  draft: NewDraft,
  now: number,
  /** More writes for the same commit, from the id of the draft. */
  also: (id: string) => readonly Write[] = () => [],
): Promise<Broadcast> {
  await checkDraft(read, workspaceId, draft)
  const count = await countBroadcasts(read, workspaceId)
  if (count >= MAX_BROADCASTS) {
    const message = `a workspace may have at most ${MAX_BROADCASTS} broadcasts: delete old ones first`
    throw new Refusal('conflict', message, { limit: MAX_BROADCASTS, count })
  }
  const id = uuidv7(now)
  const { notOpenedOf } = draft
  const restriction = notOpenedOf === undefined ? [] : [restrictDraft({ workspaceId, id, notOpenedOf })]
  await commit([insertDraft({ ...toContent(draft), id, workspaceId, now }), ...restriction, ...also(id)])
  return requireBroadcast(read, { workspaceId, id })
}

/**
 * Undefined fields stay unchanged. Throws the refusals of `createDraft`, or `not-found`. With `expected`, the time of
 * the last change that the client knows, a draft with another one is refused: `conflict`.
 */
export async function updateDraft(
  { read, commit }: Store,
  ref: BroadcastRef,
  change: DraftChange,
  now: number,
  expected?: number,
): Promise<Broadcast> {
  for (;;) {
    const row = await requireDraft(read, ref, expected)
    const draft = applyChange(toDraft(row), change)
    checkAudienceStays(row, draft)
    await checkDraft(read, ref.workspaceId, draft)
    const write = changeDraft({ ...ref, version: row.version, ...toContent(draft), now })
    // The write missed because another change came first. The next round applies this change on top of it.
    if (await tryCommit(commit([write]))) return requireBroadcast(read, ref)
  }
}

/** The draft that a change is for. Rejects with `not-found`, or with `conflict` as `updateDraft` does. */
export async function requireDraft(read: Read, ref: BroadcastRef, expected?: number): Promise<Broadcast> {
  const row = await requireBroadcast(read, ref)
  if (row.status !== 'draft') throw buildStateConflict(row, 'only a draft can be changed')
  checkUnchanged(row.updated_at, expected)
  return row
}

/** The contacts of another audience did not get the first broadcast, so none of them would get this one. */
function checkAudienceStays({ not_opened_of: first, audience_id: present }: Broadcast, { audienceId }: Draft): void {
  if (first === null || audienceId === present) return
  const rule = 'cannot be changed: the broadcast goes to those who did not open another one to the same audience'
  throw new Refusal('invalid-parameter', `audience_id: ${rule}`, {
    field: 'audience_id',
    value: formatForDisplay(audienceId),
  })
}

/** Applies a change: a template replaces the draft's own subject and bodies, and these replace a template. */
function applyChange(draft: Draft, change: DraftChange): Draft {
  const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined))
  const { subject, html, text, templateId } = change
  if (isGiven(templateId)) return { ...draft, subject: null, html: null, text: null, blocks: null, ...given }
  const ownWords = [subject, html, text].some(isGiven)
  return { ...draft, ...(ownWords ? { templateId: null } : {}), ...given }
}

async function checkDraft(read: Read, workspaceId: string, draft: Draft): Promise<void> {
  const { audienceId, from, replyTo, subject, html, text, templateId } = draft
  const words = { subject, html, text, template_id: templateId }
  const broken = wordRules.filter(({ holds }) => !holds(words))
  const first = broken.find(({ kind }) => kind === 'missing-field') ?? broken[0]
  if (first !== undefined) {
    const errors = broken.map(({ field, message }) => ({ field, message, value: null }))
    throw new Refusal(first.kind, `${first.field}: ${first.message}`, { errors })
  }
  await requireAudience(read, workspaceId, audienceId)
  // The content of a template is checked when the broadcast is sent, because it may change until then.
  if (templateId === null) parseBroadcastContent({ sender: from, replyTo, subject: subject ?? '', html, text })
  else if ((await templateById(read, { workspaceId, id: templateId }))[0] === undefined) {
    throw buildTemplateNotFound(templateId)
  }
}

export function buildTemplateNotFound(id: string): Refusal {
  return new Refusal('template-not-found', `no such template: ${formatForDisplay(id)}`, { id: formatForDisplay(id) })
}

/** An empty body counts as no body. */
function toContent(draft: Draft): DraftColumns {
  const { name, audienceId, from, replyTo, subject, html, text, blocks, templateId } = draft
  return {
    ...{ name, audience_id: audienceId, sender: toJson(from), reply_to: toJson(replyTo) },
    ...{ subject, html: html || null, text: text || null, template_id: templateId },
    blocks: blocks === null ? null : toJson(blocks),
  }
}

export function toDraft(row: Broadcast): Draft {
  const { name, audience_id, sender, reply_to, subject, html, text, blocks, template_id } = row
  return {
    ...{ name, audienceId: audience_id, from: parseJson(sender), replyTo: parseJson(reply_to) },
    ...{ subject, html, text, blocks: blocks === null ? null : parseJson(blocks), templateId: template_id },
  }
}
