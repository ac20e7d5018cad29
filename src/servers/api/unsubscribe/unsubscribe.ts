/**
 * GET and POST /v1/unsubscribe/:token: the page of an unsubscribe link, which asks, and the request that acts.
 *
 * A GET or a HEAD changes nothing, because scanners follow every link of a message. A POST acts whatever its body is:
 * the form of the page and the one-click request of a mail program (RFC 8058) are the same to it. Only the form that
 * undoes it has a field. There is no redirect and no cookie. The token is the permission.
 */
import type { KeyObject } from 'node:crypto'
import { recipientOfUnsubscribe } from '../../../base/mail/recipient-token.js'
import type { Store } from '../../../base/storage/db/database.js'
import {
  findLinkRecipient,
  type LinkRecipient,
  undoUnsubscription,
  unsubscribe,
} from '../../../records/messages/unsubscribe.js'
import type { Answer } from '../http/answer.js'
import { readShortForm } from '../http/input/short-form.js'
import { type OpenCall, openRoute, type Route } from '../http/route/route.js'

interface Page {
  readonly status: number
  readonly html: string
  readonly headers: Readonly<Record<string, string>>
}

/**
 * `done` and `done-before`: unsubscribed by this request, or before. `undone`: subscribed again. `stays`: it cannot be
 * undone.
 */
type UnsubscribeStage = 'asks' | 'done' | 'done-before' | 'undone' | 'stays'

interface UnsubscribeDeps extends Store {
  /** The key that signs the tokens. */
  readonly secret: KeyObject
  readonly showPage: (recipient: Omit<LinkRecipient, 'isUnsubscribed'>, stage: UnsubscribeStage) => Page
  readonly unknownLinkPage: Page
}

const path = '/unsubscribe/:token'
const tag = 'Unsubscribing'
const params = { token: 'That of one recipient of one email, as the link in the message has it.' }
const example = '<!doctype html>'
const unknown = {
  description: 'The token is not one of ours, or too old: a page that says so',
  type: 'text/html',
  example,
}

export function unsubscribeRoutes(deps: UnsubscribeDeps): readonly Route[] {
  return [askRoute(deps), actRoute(deps)]
}

function askRoute(deps: UnsubscribeDeps): Route {
  return openRoute({
    ...{ method: 'GET', area: 'page', path, tag, params },
    summary: 'Show the page that asks whether to unsubscribe',
    description: 'Needs no key. Changes nothing. Parameters of the query are ignored.',
    answers: { 200: { description: 'The page', type: 'text/html', example }, 404: unknown },
    refusals: [],
    run: async (call) => {
      const recipientId = recipientOf(deps, call)
      const recipient = recipientId === null ? null : await findLinkRecipient(deps.read, recipientId, call.now)
      return answer(deps, recipient, recipient?.isUnsubscribed === true ? 'done-before' : 'asks')
    },
  })
}

function actRoute(deps: UnsubscribeDeps): Route {
  return openRoute({
    ...{ method: 'POST', area: 'page', path, tag, params },
    readBody: readShortForm,
    summary: 'Unsubscribe the recipient of a message',
    description:
      'Needs no key. Suppresses the address for the workspace that sent the message; after a broadcast it sets ' +
      '`subscribed` of the contact to false instead. Mail programs send `List-Unsubscribe=One-Click` (RFC 8058); the ' +
      'body may be anything. The form field `undo` subscribes the contact of a broadcast again, within an hour.',
    answers: { 200: { description: 'The page that says what was done', type: 'text/html', example }, 404: unknown },
    refusals: [],
    run: async (call) => {
      const recipientId = recipientOf(deps, call)
      const before = recipientId === null ? null : await findLinkRecipient(deps.read, recipientId, call.now)
      if (recipientId === null || before === null) return answer(deps, null, 'asks')
      const stage = await (call.body.has('undo') ? undo : act)(deps, { recipientId, before, now: call.now })
      return answer(deps, await findLinkRecipient(deps.read, recipientId, call.now), stage)
    },
  })
}

interface Request {
  readonly recipientId: string
  readonly before: LinkRecipient
  readonly now: number
}

async function act(deps: UnsubscribeDeps, { recipientId, before, now }: Request): Promise<UnsubscribeStage> {
  await unsubscribe(deps, recipientId, now)
  return before.isUnsubscribed ? 'done-before' : 'done'
}

/** A page that is loaded again sends its form again. */
async function undo(deps: UnsubscribeDeps, { recipientId, before, now }: Request): Promise<UnsubscribeStage> {
  if (before.scope === 'mail') return before.isUnsubscribed ? 'stays' : 'asks'
  if (!before.isUnsubscribed) return 'undone'
  return (await undoUnsubscription(deps, recipientId, now)) ? 'undone' : 'stays'
}

function recipientOf({ secret }: UnsubscribeDeps, { params: { token = '' } }: OpenCall): string | null {
  return recipientOfUnsubscribe(secret, token)
}

/** `recipient` is null if it is not known, or no longer known. */
function answer(deps: UnsubscribeDeps, recipient: LinkRecipient | null, stage: UnsubscribeStage): Answer {
  return { kind: 'page', ...(recipient === null ? deps.unknownLinkPage : deps.showPage(recipient, stage)) }
}
