/**
 * The routes of a user's password: change it, ask for a link by mail, set it by a link.
 *
 * A request for a link is answered the same way, and after the same time, whether or not the address has
 * an account.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { type Address, toLowerCaseAddress } from '../../../base/mail/address.js'
import { userByEmail } from '../../../workspaces/accounts/people/users.js'
import {
  changeOwnPassword,
  readPasswordLink,
  setPasswordByLink,
} from '../../../workspaces/accounts/sessions/own-account.js'
import { json, noContent } from '../http/answer.js'
import { address, password } from '../http/input/values.js'
import { openRoute, type Route, sessionRoute } from '../http/route/route.js'
import { type AccountDeps, answerSignIn, code, toClient } from './session.js'
import { sessionView } from './session-view.js'

export interface PasswordDeps extends AccountDeps {
  /** Sends a link to the account of that address. Does nothing if there is none. */
  readonly sendPasswordLink: (email: Address, now: number) => Promise<void>
}

/** Milliseconds. A mail takes less to be stored. */
const ANSWER_AFTER = 300

const tokenRule = 'allowed: the token of the link'
const changeRequest = z.strictObject({ current_password: password, new_password: password }).meta({
  id: 'PasswordChange',
  example: { current_password: 'correct horse battery', new_password: 'staple of the old town' },
})
const linkRequest = z
  .strictObject({ email: address })
  .meta({ id: 'PasswordLinkRequest', example: { email: 'ann@example.com' } })
const token = z.string(tokenRule).max(200, tokenRule)
const linkToken = z
  .strictObject({ token })
  .meta({ id: 'PasswordLinkToken', example: { token: 'MtYvQ3tW0Yc1yB5jZ8Q2pWmX9s7uKdLrFhGaEoIbNvU' } })
const linkOwner = z
  .strictObject({ email: z.string().meta({ example: 'ann@example.com' }) })
  .meta({ id: 'PasswordLinkOwner' })
const linkUse = z.strictObject({ token, password, code: code.optional() }).meta({
  id: 'PasswordLinkUse',
  example: { token: 'MtYvQ3tW0Yc1yB5jZ8Q2pWmX9s7uKdLrFhGaEoIbNvU', password: 'correct horse battery' },
})

const tag = 'Own account'

export function passwordRoutes(deps: PasswordDeps): readonly Route[] {
  return [
    sessionRoute({
      method: 'POST',
      path: '/password',
      area: 'session',
      tag,
      summary: 'Change your password',
      description: 'All of your other sessions end.',
      body: changeRequest,
      answers: { 204: { description: 'It is changed.' } },
      refusals: ['invalid_credentials', 'conflict'],
      run: async ({ session, body: { current_password: current, new_password: next }, now, ...client }) => {
        await changeOwnPassword(deps, { session, client: toClient(client), current, next, now })
        return noContent
      },
    }),
    requestRoute(deps),
    showRoute(deps),
    confirmRoute(deps),
  ]
}

function requestRoute({ read, attempts, sendPasswordLink }: PasswordDeps): Route {
  return openRoute({
    method: 'POST',
    path: '/password-links',
    area: 'sign-in',
    tag,
    summary: 'Ask for a link that sets a new password, by mail',
    description: 'The answer does not tell whether the address has an account. The link works once, for an hour.',
    body: linkRequest,
    answers: { 202: { description: 'A mail is sent if the address has an account.', schema: z.strictObject({}) } },
    refusals: [],
    run: async ({ body, remoteAddress, now }) => {
      const email = toLowerCaseAddress(body.email)
      attempts.clients.take(remoteAddress, now)
      attempts.links.take({ email, userId: (await userByEmail(read, { email }))[0]?.id ?? null }, now)
      await Promise.all([sendPasswordLink(email, now), sleep(ANSWER_AFTER)])
      return json(202, {})
    },
  })
}

function showRoute(deps: PasswordDeps): Route {
  return openRoute({
    method: 'POST',
    path: '/password-links/show',
    area: 'sign-in',
    tag,
    summary: 'Show whose password a link sets',
    body: linkToken,
    answers: { 200: { description: 'The user of the link.', schema: linkOwner } },
    refusals: ['not_found', 'conflict'],
    run: async ({ body: { token }, remoteAddress, now }) =>
      json(200, await readPasswordLink(deps, { token, remoteAddress, now })),
  })
}

function confirmRoute(deps: PasswordDeps): Route {
  return openRoute({
    method: 'POST',
    path: '/password-links/confirm',
    area: 'sign-in',
    tag,
    summary: 'Set a password by a link, and sign in',
    description: 'All sessions from before end. The second factor, where it is enabled, is needed as for a sign-in.',
    body: linkUse,
    answers: { 201: { description: 'The new session; its token is in the cookie.', schema: sessionView } },
    refusals: ['authentication_required', 'invalid_credentials', 'not_found', 'conflict'],
    run: async ({ body: { token, password, code }, now, ...client }) =>
      answerSignIn(deps, await setPasswordByLink(deps, { token, password, code, client: toClient(client), now })),
  })
}
