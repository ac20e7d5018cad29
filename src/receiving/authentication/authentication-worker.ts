/**
 * The authentication thread. It checks several messages concurrently: each yields while it waits for DNS and
 * between the pieces of its body.
 *
 * DNS queries go to the main thread, those of one turn of the event loop together.
 */
import { type MessagePort, parentPort } from 'node:worker_threads'
import { Refusal } from '../../mail/refusal.js'
import { systemClock } from '../../platform/clock.js'
import type { LookupResult, MxRecord, RecordResolver } from '../../platform/dns/resolver.js'
import { freeMemory } from '../../platform/memory/free-memory.js'
import { authenticate } from './authenticate.js'
import type { DnsAnswer, DnsQuery, FromAuthenticator, ToAuthenticator } from './authentication-protocol.js'

type Message = Extract<ToAuthenticator, { readonly kind: 'message' }>

function createMainThreadResolver(port: MessagePort): {
  readonly resolver: RecordResolver
  readonly onAnswers: (answers: Extract<ToAuthenticator, { readonly kind: 'answers' }>['answers']) => void
} {
  const waiting = new Map<number, (answer: DnsAnswer) => void>()
  let lastId = 0
  let pendingQueries: (readonly [number, DnsQuery])[] = []

  function postQueries(): void {
    port.postMessage({ kind: 'questions', questions: pendingQueries } satisfies FromAuthenticator)
    pendingQueries = []
  }

  function sendQuery(query: DnsQuery): Promise<DnsAnswer> {
    return new Promise((resolve) => {
      lastId += 1
      waiting.set(lastId, resolve)
      if (pendingQueries.length === 0) setImmediate(postQueries)
      pendingQueries.push([lastId, query])
    })
  }

  return {
    resolver: {
      resolveRecords: async (name, type) => (await sendQuery({ name, type })) as LookupResult<string>,
      resolveMx: async (name) => (await sendQuery({ name, type: 'MX' })) as LookupResult<MxRecord>,
    },
    onAnswers: (answers) => {
      for (const [question, answer] of answers) {
        waiting.get(question)?.(answer)
        waiting.delete(question)
      }
    },
  }
}

async function handleMessage(message: Message, resolver: RecordResolver, port: MessagePort): Promise<void> {
  const { id, moved, connection, now } = message
  const raw = message.raw as Uint8Array<ArrayBuffer>
  const ahead = now - systemClock()
  try {
    const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength)
    const authentication = await authenticate(bytes, connection, { resolver, clock: () => systemClock() + ahead })
    const answer: FromAuthenticator = { kind: 'found', id, authentication, raw: moved ? raw : null }
    port.postMessage(answer, moved ? [raw.buffer] : [])
  } catch (error) {
    if (moved) freeMemory(raw)
    const refusal = error instanceof Refusal ? { kind: error.kind, message: error.message } : null
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
    port.postMessage({ kind: 'refused', id, refusal, message: text } satisfies FromAuthenticator)
  }
}

const port = parentPort
if (port === null) throw new Error('messages are authenticated in a worker thread')
const { resolver, onAnswers } = createMainThreadResolver(port)
port.on('message', (message: ToAuthenticator) => {
  if (message.kind === 'answers') onAnswers(message.answers)
  else void handleMessage(message, resolver, port)
})
