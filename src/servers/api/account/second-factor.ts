/** The routes of a user's second factor: begin, confirm, disable, new recovery codes. */
import { z } from 'zod'
import {
  beginSecondFactor,
  confirmSecondFactor,
  disableSecondFactor,
  replaceRecoveryCodes,
} from '../../../workspaces/accounts/sessions/own-account.js'
import type { SignInDeps } from '../../../workspaces/accounts/sessions/sign-in.js'
import { json, noContent } from '../http/answer.js'
import { password } from '../http/input/values.js'
import { type Route, sessionRoute } from '../http/route/route.js'
import { code, toClient } from './session.js'

const beginRequest = z
  .strictObject({ password })
  .meta({ id: 'SecondFactorRequest', example: { password: 'correct horse battery' } })
const confirmation = z.strictObject({ code }).meta({ id: 'SecondFactorConfirmation' })
const removal = z
  .strictObject({ password, code })
  .meta({ id: 'SecondFactorRemoval', example: { password: 'correct horse battery', code: '492039' } })
const codesRequest = z
  .strictObject({ password, code })
  .meta({ id: 'RecoveryCodesRequest', example: { password: 'correct horse battery', code: '492039' } })
const secret = z
  .strictObject({
    secret: z.string().meta({ description: 'In base32.', example: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP' }),
    uri: z.string().meta({
      description: 'For the picture that an authenticator reads.',
      example: 'otpauth://totp/Posthorn:ann%40example.com?issuer=Posthorn&secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP',
    }),
  })
  .meta({ id: 'SecondFactorSecret' })
const recoveryCodes = z
  .strictObject({
    recovery_codes: z
      .array(z.string())
      .meta({ description: 'Each stands in for a code, once.', example: ['abcd-efgh-ijkl-mnop'] }),
  })
  .meta({ id: 'RecoveryCodes' })

const tag = 'Own account'

export function secondFactorRoutes(deps: SignInDeps): readonly Route[] {
  return [beginRoute(deps), confirmRoute(deps), disableRoute(deps), recoveryCodesRoute(deps)]
}

function beginRoute(deps: SignInDeps): Route {
  return sessionRoute({
    method: 'POST',
    path: '/totp',
    area: 'session',
    tag,
    summary: 'Begin to set up a second factor',
    description: 'It is enabled when a code of the secret is confirmed.',
    body: beginRequest,
    answers: { 201: { description: 'The secret, which only this answer has.', schema: secret } },
    refusals: ['invalid_credentials', 'conflict'],
    run: async ({ session, body, now }) => json(201, await beginSecondFactor(deps, { session, ...body, now })),
  })
}

function confirmRoute(deps: SignInDeps): Route {
  return sessionRoute({
    method: 'POST',
    path: '/totp/confirm',
    area: 'session',
    tag,
    summary: 'Enable the second factor by one of its codes',
    description: 'All of your other sessions end.',
    body: confirmation,
    answers: { 200: { description: 'Recovery codes, which only this answer has.', schema: recoveryCodes } },
    refusals: ['invalid_credentials', 'conflict'],
    run: async ({ session, body, now, ...client }) =>
      json(200, {
        recovery_codes: await confirmSecondFactor(deps, { session, client: toClient(client), ...body, now }),
      }),
  })
}

function disableRoute(deps: SignInDeps): Route {
  return sessionRoute({
    method: 'DELETE',
    path: '/totp',
    area: 'session',
    tag,
    summary: 'Disable the second factor',
    description: 'All of your other sessions end.',
    body: removal,
    answers: { 204: { description: 'It is disabled.' } },
    refusals: ['invalid_credentials', 'conflict'],
    run: async ({ session, body, now, ...client }) => {
      await disableSecondFactor(deps, { session, client: toClient(client), ...body, now })
      return noContent
    },
  })
}

function recoveryCodesRoute(deps: SignInDeps): Route {
  return sessionRoute({
    method: 'POST',
    path: '/recovery-codes',
    area: 'session',
    tag,
    summary: 'Make new recovery codes',
    description: 'All codes from before end. The code must be one of the authenticator.',
    body: codesRequest,
    answers: { 201: { description: 'Recovery codes, which only this answer has.', schema: recoveryCodes } },
    refusals: ['invalid_credentials', 'conflict'],
    run: async ({ session, body, now, ...client }) =>
      json(201, {
        recovery_codes: await replaceRecoveryCodes(deps, { session, client: toClient(client), ...body, now }),
      }),
  })
}
