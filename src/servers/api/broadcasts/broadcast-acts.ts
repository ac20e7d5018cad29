/** The routes of broadcasts that act: send, pause, resume, cancel, and send one copy as a test. */

import { z } from 'zod'
import type { BroadcastEngine } from '../../../outbound/broadcasts/broadcast-engine.js'
import { toBroadcastResource } from '../../../outbound/broadcasts/broadcast-resource.js'
import { actOnBroadcast, type BroadcastAct } from '../../../outbound/broadcasts/change-broadcast.js'
import { type SendBroadcastDeps, sendBroadcast } from '../../../outbound/broadcasts/send-broadcast.js'
import { buildTestCopy, type TestCopyDeps } from '../../../outbound/broadcasts/test-copy.js'
import type { EmailCommitter } from '../../../outbound/sending/email-committer.js'
import { parseReleaseTime } from '../../../outbound/sending/schedule.js'
import { actorOf } from '../../../workspaces/accounts/access/audit-log.js'
import { requireDiskSpace } from '../emails/email-acceptance.js'
import { json } from '../http/answer.js'
import { uuid } from '../http/input/values.js'
import { type Route, route } from '../http/route/route.js'
import { actExamples, scheduledExample } from './broadcast-examples.js'
import { broadcastRecord, broadcastSend, broadcastTest } from './broadcast-fields.js'
import { broadcastRefOf, tag } from './broadcasts.js'

export interface BroadcastActDeps extends Omit<SendBroadcastDeps, 'composing'>, TestCopyDeps {
  readonly committer: EmailCommitter
  /** False if the disk is nearly full. */
  readonly hasDiskSpace: () => boolean
  readonly broadcasts: BroadcastEngine
}

export function broadcastActRoutes(deps: BroadcastActDeps): readonly Route[] {
  return [
    sendRoute(deps),
    actRoute(deps, 'cancel', {
      summary: 'Cancel a scheduled, sending or paused broadcast',
      description: 'What waits in the queue is cancelled; what is being transferred at this moment still goes.',
    }),
    actRoute(deps, 'pause', {
      summary: 'Pause a broadcast that is sending',
      description: 'What waits in the queue is held; what is being transferred at this moment still goes.',
    }),
    actRoute(deps, 'resume', {
      summary: 'Resume a paused broadcast',
      description: 'It continues where it was, also if the service has paused it.',
    }),
    testRoute(deps),
  ]
}

function sendRoute(deps: BroadcastActDeps): Route {
  return route({
    method: 'POST',
    path: '/broadcasts/:id/send',
    area: 'write',
    tag,
    summary: 'Send a draft, now or later',
    description:
      'Goes to the subscribed contacts that the audience has when it starts, without suppressed addresses. The content is that of this moment.',
    body: broadcastSend.optional(),
    answers: {
      202: { description: 'It is scheduled, or being sent.', schema: broadcastRecord, example: scheduledExample },
    },
    refusals: [
      'not_found',
      'conflict',
      'invalid_from_address',
      'audience_not_found',
      'template_not_found',
      'invalid_template_variables',
    ],
    run: async ({ principal, params: { id = '' }, body = {}, now }) => {
      requireDiskSpace(deps)
      const at = body.scheduled_for === undefined ? null : parseReleaseTime(body.scheduled_for, now)
      const sent = await sendBroadcast(deps, { principal, id, at, now })
      deps.broadcasts.wake()
      return json(202, toBroadcastResource(deps.read, sent))
    },
  })
}

interface ActWords {
  readonly summary: string
  readonly description: string
}

function actRoute(deps: BroadcastActDeps, act: BroadcastAct, words: ActWords): Route {
  return route({
    method: 'POST',
    path: `/broadcasts/:id/${act}`,
    area: 'write',
    tag,
    ...words,
    answers: { 200: { description: 'The broadcast.', schema: broadcastRecord, example: actExamples[act] } },
    refusals: ['not_found', 'conflict'],
    run: async (call) => {
      const { principal, now } = call
      const changed = await actOnBroadcast(deps, act, { ref: broadcastRefOf(call), actor: actorOf(principal), now })
      deps.broadcasts.wake()
      return json(200, toBroadcastResource(deps.read, changed))
    },
  })
}

const sentTest = z.strictObject({ id: uuid, message_id: z.string(), to: z.string() }).meta({ id: 'BroadcastTestSent' })

function testRoute(deps: BroadcastActDeps): Route {
  return route({
    method: 'POST',
    path: '/broadcasts/:id/test',
    area: 'write',
    tag,
    summary: 'Send one copy to an address, now',
    description:
      'An ordinary email, which is not counted as one of the broadcast. Its variables are those of a contact of the audience; its links are not tracked, and its unsubscribe link changes nothing.',
    body: broadcastTest,
    answers: { 200: { description: 'It is stored, and will be delivered.', schema: sentTest } },
    refusals: [
      'not_found',
      'invalid_email_address',
      'invalid_from_address',
      'audience_not_found',
      'template_not_found',
      'invalid_template_variables',
      'all_recipients_suppressed',
      'insufficient_quota',
      'daily_limit_exceeded',
      'quota_exceeded',
    ],
    run: async (call) => {
      requireDiskSpace(deps)
      const { principal, body, now } = call
      const prepared = await buildTestCopy(deps, { principal, ref: broadcastRefOf(call), to: body.to, now })
      await deps.committer.commit([prepared], null, now)
      const { id, message_id } = prepared.enqueued.email
      return json(200, { id, message_id, to: body.to } satisfies z.output<typeof sentTest>)
    },
  })
}
