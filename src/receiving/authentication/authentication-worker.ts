/**
 * The authentication thread. It checks several messages concurrently: each yields while it waits for DNS and
 * between the pieces of its body.
 *
 * DNS queries to which it has no answer go to the main thread, those of one turn of the event loop together.
 */
import { type MessagePort, parentPort } from 'node:worker_threads'
import { Refusal } from '../../mail/refusal.js'
import { type Clock, systemClock } from '../../platform/clock.js'
import type { LookupResult, MxRecord } from '../../platform/dns/resolver.js'
import { freeMemory } from '../../platform/memory/free-memory.js'
import { authenticate } from './authenticate.js'
import type {
  DatedAnswer,
  DnsAnswer,
  DnsQuery,
  FromAuthenticator,
  MessageToCheck,
  Outcome,
  ToAuthenticator,
} from './authentication-protocol.js'
import { type CheckMemory, createCheckMemory } from './check-memory.js'
import type { KeepingResolver } from './dns-queries.js'
import { createKeptAnswers, type KeptAnswers, toAnswerKey } from './kept-answers.js'

/** Asks the main thread. */
interface DnsQuestions {
  readonly ask: (query: DnsQuery) => Promise<readonly [answer: DnsAnswer, freshUntil: number]>
  readonly onAnswers: (answers: readonly DatedAnswer[]) => void
}

function createQuestions(port: MessagePort): DnsQuestions {
  const waiting = new Map<number, (answer: readonly [DnsAnswer, number]) => void>()
  let lastId = 0
  let pendingQueries: (readonly [number, DnsQuery])[] = []

  function postQueries(): void {
    port.postMessage({ kind: 'questions', questions: pendingQueries } satisfies FromAuthenticator)
    pendingQueries = []
  }

  return {
    ask: (query) =>
      new Promise((resolve) => {
        lastId += 1
        waiting.set(lastId, resolve)
        if (pendingQueries.length === 0) setImmediate(postQueries)
        pendingQueries.push([lastId, query])
      }),
    onAnswers: (answers) => {
      for (const [question, answer, freshUntil] of answers) {
        waiting.get(question)?.([answer, freshUntil])
        waiting.delete(question)
      }
    },
  }
}

function createResolver(questions: DnsQuestions, answers: KeptAnswers, clock: Clock): KeepingResolver {
  async function ask(query: DnsQuery): Promise<DnsAnswer> {
    const [answer, freshUntil] = await questions.ask(query)
    answers.keep(toAnswerKey(query.name, query.type), answer, freshUntil, clock())
    return answer
  }
  return {
    findKept: (key) => answers.find(key, clock()),
    resolveRecords: async (name, type) => (await ask({ name, type })) as LookupResult<string>,
    resolveMx: async (name) => (await ask({ name, type: 'MX' })) as LookupResult<MxRecord>,
  }
}

/**
 * The clock of the main thread, which each message tells: as far ahead of ours as the message that waited least for this
 * thread has seen it.
 */
function createMainClock(): { readonly read: Clock; readonly note: (now: number) => void } {
  let ahead = Number.NEGATIVE_INFINITY
  return {
    read: () => systemClock() + ahead,
    note: (now) => {
      ahead = Math.max(ahead, now - systemClock())
    },
  }
}

/** What all messages of the thread share. */
interface Thread {
  readonly clock: ReturnType<typeof createMainClock>
  readonly resolver: KeepingResolver
  readonly onOutcome: (outcome: Outcome) => void
  readonly questions: DnsQuestions
  readonly memory: CheckMemory
}

/** Outcomes of one turn of the event loop are sent together: each message to the main thread wakes it. */
function createOutcomes(port: MessagePort): Thread['onOutcome'] {
  let outcomes: Outcome[] = []
  return (outcome) => {
    if (outcomes.length === 0) {
      setImmediate(() => {
        const moved = outcomes.flatMap((one) => (one.kind === 'found' && one.raw !== null ? one.raw.buffer : []))
        port.postMessage({ kind: 'outcomes', outcomes } satisfies FromAuthenticator, moved)
        outcomes = []
      })
    }
    outcomes.push(outcome)
  }
}

async function handleMessage(message: MessageToCheck, { clock, resolver, memory, onOutcome }: Thread): Promise<void> {
  const { id, moved, connection, now } = message
  const raw = message.raw as Uint8Array<ArrayBuffer>
  clock.note(now)
  try {
    const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength)
    const authentication = await authenticate(bytes, connection, { resolver, clock: clock.read, memory })
    onOutcome({ kind: 'found', id, authentication, raw: moved ? raw : null })
  } catch (error) {
    if (moved) freeMemory(raw)
    const refusal = error instanceof Refusal ? { kind: error.kind, message: error.message } : null
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
    onOutcome({ kind: 'refused', id, refusal, message: text })
  }
}

const port = parentPort
if (port === null) throw new Error('messages are authenticated in a worker thread')
const clock = createMainClock()
const questions = createQuestions(port)
const thread: Thread = {
  clock,
  questions,
  resolver: createResolver(questions, createKeptAnswers(), clock.read),
  onOutcome: createOutcomes(port),
  memory: createCheckMemory(),
}
port.on('message', (message: ToAuthenticator) => {
  if (message.kind === 'answers') thread.questions.onAnswers(message.answers)
  else for (const one of message.messages) void handleMessage(one, thread)
})
