/**
 * GET and POST /v1/forwards/:token: the page by which the owner of an address agrees to get the forwarded mail of a
 * workspace, and withdraws.
 *
 * A GET changes nothing, because scanners follow every link of a message. The token is the permission.
 */
import type { KeyObject } from 'node:crypto'
import type { Store } from '../../../base/storage/db/database.js'
import { changeAgreement, parseTargetToken, targetById } from '../../../workspaces/domains/forwards/forward-targets.js'
import type { Answer } from '../http/answer.js'
import { readShortForm } from '../http/input/short-form.js'
import { type OpenCall, openRoute, type Route } from '../http/route/route.js'

interface Page {
  readonly status: number
  readonly html: string
  readonly headers: Readonly<Record<string, string>>
}

interface ShownTarget {
  readonly address: string
  readonly workspace: string
  readonly isConfirmed: boolean
}

interface TargetPageDeps extends Store {
  /** The key that signs the tokens. */
  readonly secret: KeyObject
  readonly showPage: (target: ShownTarget) => Page
  readonly unknownLinkPage: Page
}

const path = '/forwards/:token'
const tag = 'Domains'
const params = { token: 'That of one address, as the link in the mail has it.' }
const example = '<!doctype html>'
const unknown = {
  description: 'The token is not one of ours: a page that says so',
  type: 'text/html',
  example,
}

export function forwardTargetRoutes(deps: TargetPageDeps): readonly Route[] {
  return [askRoute(deps), actRoute(deps)]
}

function askRoute(deps: TargetPageDeps): Route {
  return openRoute({
    ...{ method: 'GET', area: 'page', path, tag, params },
    summary: 'Show the page that asks whether an address takes forwarded mail',
    description: 'Needs no key. Changes nothing.',
    answers: { 200: { description: 'The page', type: 'text/html', example }, 404: unknown },
    refusals: [],
    run: (call) => answer(deps, idOf(deps, call)),
  })
}

function actRoute(deps: TargetPageDeps): Route {
  return openRoute({
    ...{ method: 'POST', area: 'page', path, tag, params },
    readBody: readShortForm,
    summary: 'Agree to get forwarded mail, or withdraw',
    description: 'Needs no key. The form field `stop` withdraws.',
    answers: { 200: { description: 'The page that says what is in force', type: 'text/html', example }, 404: unknown },
    refusals: [],
    run: async (call) => {
      const id = idOf(deps, call)
      if (id !== null) await deps.commit([changeAgreement(id, call.body.has('stop') ? null : call.now)])
      return answer(deps, id)
    },
  })
}

function idOf({ secret }: TargetPageDeps, { params: { token = '' } }: OpenCall): string | null {
  return parseTargetToken(secret, token)
}

async function answer({ read, showPage, unknownLinkPage }: TargetPageDeps, id: string | null): Promise<Answer> {
  const [row] = id === null ? [] : await targetById(read, { id })
  if (row === undefined) return { kind: 'page', ...unknownLinkPage }
  const { address, workspace, confirmed_at: confirmedAt } = row
  return { kind: 'page', ...showPage({ address, workspace, isConfirmed: confirmedAt !== null }) }
}
