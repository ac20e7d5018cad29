/**
 * POST /v1/inbound/:id/feedback: reports an email as spam or ham, and the classifier of the workspace
 * learns it.
 *
 * The record's `spam_status` changes, its score and report do not. A repeated verdict counts once; the
 * opposite verdict undoes what was learned.
 */
import { z } from 'zod'
import { Refusal } from '../../../base/mail/refusal.js'
import type { BayesVerdict } from '../../../base/storage/tables/inbound-tables.js'
import { learnMessage } from '../../../inbound/spam/bayes/learn.js'
import { messageDigester } from '../../../inbound/spam/bayes/lesson-digest.js'
import { spamContextOf } from '../../../inbound/spam/received-spam-message.js'
import { inboundById, readInboundRaw, setSpamStatus } from '../../../records/messages/inbound/inbound-email.js'
import type { InboundEmail } from '../../../records/messages/inbound/inbound-record.js'
import { json } from '../http/answer.js'
import { notFound } from '../http/input/values.js'
import { type Route, route } from '../http/route/route.js'
import type { InboundDeps } from './show.js'

const body = z.strictObject({ verdict: z.enum(['spam', 'ham'], 'allowed: spam, ham') }).meta({ id: 'FeedbackRequest' })

const feedbackAnswer = z
  .object({
    id: z.string(),
    verdict: z.enum(['spam', 'ham']),
    learned: z.boolean().meta({ description: 'False: it had been learned already.' }),
    spam_status: z.enum(['clean', 'spam']).meta({ example: 'spam' }),
  })
  .meta({ id: 'Feedback' })

export function feedbackRoute(deps: InboundDeps): Route {
  return route<undefined, z.output<typeof body>>({
    method: 'POST',
    path: '/inbound/:id/feedback',
    area: 'write',
    tag: 'Inbound email',
    summary: 'Report an email as spam or not spam',
    description:
      'The classifier of the workspace learns it and `spam_status` changes; score and report stay. ' +
      'The classifier is used once it has learned 50 messages of each kind.',
    body,
    answers: { 200: { description: 'It is learned.', schema: feedbackAnswer } },
    refusals: ['not_found', 'conflict'],
    run: async ({ principal: { workspaceId }, params: { id = '' }, body: { verdict }, now }) => {
      const [email] = await inboundById(deps.read, { workspaceId, id })
      if (email === undefined) throw notFound('not-found', 'inbound email', id)
      const lesson = { workspaceId, verdict, ...(await readLesson(deps, email)), at: now }
      const status = spamStatusOf[verdict]
      const statusWrite = setSpamStatus({ id, workspaceId, status })
      const { read, commit } = deps
      const learned = await learnMessage({ read, commit: (writes) => commit([...writes, statusWrite]) }, lesson)
      if (!learned) await commit([statusWrite])
      return json(200, { id, verdict, learned, spam_status: status })
    },
  })
}

const spamStatusOf = { spam: 'spam', ham: 'clean' } as const satisfies Readonly<Record<BayesVerdict, string>>

async function readLesson({ read, mime }: InboundDeps, email: InboundEmail) {
  const { workspace_id: workspaceId, id } = email
  const raw = (): Promise<Buffer | undefined> => readInboundRaw(read, { workspaceId, id })
  const result = await mime.digest(workspaceId, raw, messageDigester, spamContextOf(email))
  if (result.kind === 'digested') return result.digest
  throw new Refusal('conflict', `nothing can be learned from this message: ${result.message}`)
}
