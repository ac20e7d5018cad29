/** The routes of broadcasts that act: create, send, pause, resume, cancel, and send one copy as a test. */

import { z } from 'zod'
import { Refusal } from '../../../base/mail/refusal.js'
import type { BroadcastEngine } from '../../../outbound/broadcasts/broadcast-engine.js'
import { type BroadcastRef, broadcastById } from '../../../outbound/broadcasts/broadcast-records.js'
import { actOnBroadcast, type BroadcastAct } from '../../../outbound/broadcasts/change-broadcast.js'
import { createDraftOnce, takeBackDraft } from '../../../outbound/broadcasts/create-once.js'
import { type SendBroadcastDeps, sendBroadcast } from '../../../outbound/broadcasts/send-broadcast.js'
import { buildTestCopy, type TestCopyDeps } from '../../../outbound/broadcasts/test-copy.js'
import type { EmailCommitter } from '../../../outbound/sending/email-committer.js'
import { parseReleaseTime } from '../../../outbound/sending/schedule.js'
import { actorOf } from '../../../workspaces/accounts/access/audit-log.js'
import { type BlockCompiler, compileSource } from '../content/blocks-field.js'
import { requireDiskSpace } from '../emails/email-acceptance.js'
import { idempotencyHeader, parseIdempotencyKey } from '../emails/idempotency-key.js'
import { type Answer, json } from '../http/answer.js'
import { MAX_BROADCAST_BODY } from '../http/input/json-body.js'
import { uuid } from '../http/input/values.js'
import { type Call, type Route, route } from '../http/route/route.js'
import { broadcastRecord, toBroadcastRecord } from './broadcast-answers.js'
import { actExamples, draftExample, scheduledExample } from './broadcast-examples.js'
import { broadcastRequest, broadcastSend, broadcastTest, toDraft } from './broadcast-fields.js'
import { broadcastRefOf, tag } from './broadcasts.js'

export interface BroadcastActDeps extends Omit<SendBroadcastDeps, 'composing'>, TestCopyDeps {
  readonly committer: EmailCommitter
  readonly blocks: BlockCompiler
  /** False if the disk is nearly full. */
  readonly hasDiskSpace: () => boolean
  readonly broadcasts: BroadcastEngine
}

export function broadcastActRoutes(deps: BroadcastActDeps): readonly Route[] {
  return [
    createRoute(deps),
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

const createHeaders = idempotencyHeader(
  'Within 24 hours, the same key with the same body gets the same broadcast again, as it is then. It is created, and sent, once.',
)

function createRoute(deps: BroadcastActDeps): Route {
  return route({
    method: 'POST',
    path: '/broadcasts',
    area: 'write',
    tag,
    summary: 'Create a broadcast to an audience, as a draft or to be sent at once',
    description: 'Has either `template_id`, or `subject` with `html` or `blocks`, `text`, or both.',
    headers: createHeaders,
    body: broadcastRequest,
    maxBody: MAX_BROADCAST_BODY,
    answers: { 201: { description: 'The broadcast.', schema: broadcastRecord, example: draftExample } },
    refusals: [
      'invalid_email_address',
      'audience_not_found',
      'template_not_found',
      'invalid_template_variables',
      'conflict',
      'invalid_from_address',
    ],
    run: (call) => create(deps, call),
  })
}

async function create(
  deps: BroadcastActDeps,
  call: Call<undefined, z.output<typeof broadcastRequest>>,
): Promise<Answer> {
  const { principal, body, now } = call
  const { workspaceId } = principal
  const use = parseIdempotencyKey(call)
  const at = parseStart(body.scheduled_at, now)
  if (body.send === true) requireDiskSpace(deps)
  const source = await compileSource(deps.blocks, workspaceId, body)
  const created = await createDraftOnce(deps, { workspaceId, draft: toDraft(body, source), use, now })
  const { id, status } = created
  if (body.send !== true || status !== 'draft') return json(201, await toBroadcastRecord(deps.read, created))
  try {
    return json(201, await startBroadcast(deps, { principal, id, at, now }))
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    if (await takeBackDraft(deps, { draft: created, use, actor: actorOf(principal), now })) throw error
    return json(201, await requireStarted(deps, { workspaceId, id }, error))
  }
}

/** The broadcast, if an equal request has started it at the same time. Rejects with `refusal` if it is a draft. */
async function requireStarted(
  { read }: BroadcastActDeps,
  ref: BroadcastRef,
  refusal: Refusal,
): Promise<BroadcastAnswer> {
  const [found] = await broadcastById(read, ref)
  if (found === undefined) {
    const rule = 'the draft of this request was deleted at the same moment, as by an equal request that was refused'
    throw new Refusal('conflict', `${rule}: repeat the request`, { id: ref.id })
  }
  if (found.status === 'draft') throw refusal
  return toBroadcastRecord(read, found)
}

type BroadcastAnswer = Awaited<ReturnType<typeof toBroadcastRecord>>

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
      const at = parseStart(body.scheduled_for ?? body.scheduled_at, now)
      return json(202, await startBroadcast(deps, { principal, id, at, now }))
    },
  })
}

/** Null: now. Throws a Refusal if it is too far ahead. */
function parseStart(given: string | undefined, now: number): number | null {
  return given === undefined ? null : parseReleaseTime(given, now)
}

async function startBroadcast(
  deps: BroadcastActDeps,
  request: Parameters<typeof sendBroadcast>[1],
): Promise<BroadcastAnswer> {
  const sent = await sendBroadcast(deps, request)
  await deps.broadcasts.wake()
  return toBroadcastRecord(deps.read, sent)
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
      await deps.broadcasts.wake()
      return json(200, await toBroadcastRecord(deps.read, changed))
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
