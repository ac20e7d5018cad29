/**
 * Finds out whether the server has stored a draft although its answer was lost. Without this, the next save would make
 * a second draft, or take the user's own change for that of another person.
 */
import { ApiError } from '../../api/api-error.ts'
import { api, unwrap } from '../../api/client.ts'
import type { components } from '../../api/schema.d.ts'
import type { Broadcast } from './broadcast.ts'

type Request = components['schemas']['BroadcastRequest']

export type DraftBody = Omit<Request, 'from' | 'reply_to'> & { readonly from: string; readonly reply_to: string[] }

/** Drafts that are looked at, the newest first. */
const NEWEST = 10

/** True unless the server has refused the request: a proxy answers in its place while the server is away. */
export function isUnanswered(error: unknown): boolean {
  return !(error instanceof ApiError) || error.code === 'network' || error.status >= 500
}

/** Returns the draft if it was stored as it was sent. `id` is null for a new draft. */
export async function findStored(id: string | null, sent: DraftBody): Promise<Broadcast | null> {
  if (id === null) return findNew(sent)
  const stored = await readDraft(id)
  return isSame(stored, sent) ? stored : null
}

async function findNew(sent: DraftBody): Promise<Broadcast | null> {
  const { data } = await unwrap(api.GET('/v1/broadcasts', { params: { query: { limit: NEWEST } } }))
  for (const { id, name, status, created_at: created, updated_at: updated } of data) {
    if (name !== sent.name || status !== 'draft' || created !== updated) continue
    const stored = await readDraft(id)
    if (isSame(stored, sent)) return stored
  }
  return null
}

function readDraft(id: string): Promise<Broadcast> {
  return unwrap(api.GET('/v1/broadcasts/{id}', { params: { path: { id } } }))
}

function isSame(stored: Broadcast, sent: DraftBody): boolean {
  const { name, audience_id, from, reply_to } = sent
  if (stored.status !== 'draft' || stored.name !== name || stored.audience_id !== audience_id) return false
  const senders = [toPlain([stored.from]), toPlain(stored.reply_to)]
  if (senders.join('\n') !== [toPlain([from]), toPlain(reply_to)].join('\n')) return false
  if (sent.template_id) return stored.template_id === sent.template_id
  const { subject = '', text = '', html = '', blocks } = sent
  if (stored.template_id !== null || stored.subject !== subject || (stored.text ?? '') !== text) return false
  return blocks ? sortFields(stored.blocks) === sortFields(blocks) : !stored.blocks && (stored.html ?? '') === html
}

/** The server writes addresses with its own quotes and spaces. */
function toPlain(mailboxes: readonly string[]): string {
  return mailboxes.map((mailbox) => mailbox.replaceAll(/["\s]/g, '').toLowerCase()).join()
}

/** The server stores a document with the fields of each node in another order. */
function sortFields(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => {
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part
    return Object.fromEntries(Object.entries(part).toSorted(([one], [other]) => (one < other ? -1 : 1)))
  })
}
