/** GET /v1/emails/:id and GET /v1/emails/:id/raw: the record of one email, and its message as it is sent. */
import { z } from 'zod'
import {
  type ResourceDeps,
  readEmailResource,
  readOutgoingMessage,
  type Viewer,
} from '../../../records/messages/email-resource.js'
import { permissionFor } from '../../../workspaces/accounts/access/permissions.js'
import type { Principal } from '../../../workspaces/accounts/access/principal.js'
import { json } from '../http/answer.js'
import { addressInQuery } from '../http/input/values.js'
import { type Route, route } from '../http/route/route.js'
import { emailRecord, toEmailRecord } from './email-record.js'

const EXAMPLE_MESSAGE = 'From: The App <app@example.com>\r\nTo: bob@example.com\r\nSubject: Hello\r\n\r\nHello Bob\r\n'

export function showRoute(deps: ResourceDeps): Route {
  return route({
    method: 'GET',
    path: '/emails/:id',
    area: 'read',
    own: true,
    tag: 'Emails',
    summary: 'Read an email',
    answers: { 200: { description: 'The email', schema: emailRecord } },
    refusals: ['email_not_found'],
    run: async ({ principal, params: { id = '' } }) =>
      json(200, toEmailRecord(await readEmailResource(deps, viewerOf(principal), id))),
  })
}

const rawQuery = z.strictObject({
  recipient: addressInQuery
    .optional()
    .meta({ description: 'An address that the email is sent to. Default: its first recipient.' }),
})

export function rawRoute({ read }: ResourceDeps): Route {
  return route({
    method: 'GET',
    path: '/emails/:id/raw',
    area: 'read',
    own: true,
    tag: 'Emails',
    summary: 'Read the message as it is sent',
    description:
      'From the first attempt on it begins with its DKIM signature. Recipients of an email with an unsubscribe link get ' +
      'messages of their own.',
    query: rawQuery,
    answers: { 200: { description: 'The message', type: 'message/rfc822', example: EXAMPLE_MESSAGE } },
    refusals: ['invalid_email_address', 'email_not_found', 'not_found'],
    run: async ({ principal, params: { id = '' }, query: { recipient } }) => ({
      kind: 'bytes',
      type: 'message/rfc822',
      bytes: await readOutgoingMessage(read, viewerOf(principal), id, recipient ?? null),
    }),
  })
}

/**
 * The emails that the caller may see: those of the workspace, or, if its key may only send, those that this key has
 * sent. The same emails may be changed, since a change answers with the record.
 */
export function viewerOf(principal: Principal): Viewer {
  const { workspaceId, keyId } = principal
  // No email was sent by a key with an empty id, so it matches none.
  return { workspaceId, ownKey: permissionFor(principal, 'read') === 'yes' ? null : (keyId ?? '') }
}
