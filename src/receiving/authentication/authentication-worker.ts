/**
 * The authentication thread. It works at several messages at a time: each gives way to the others
 * while it waits for DNS and between the pieces of its body.
 *
 * DNS questions go to the main thread, those of one turn together.
 */
import { type MessagePort, parentPort } from 'node:worker_threads'
import { Refusal } from '../../mail/refusal.js'
import { systemClock } from '../../platform/clock.js'
import type { Lookup, MxRecord, RecordResolver } from '../../platform/dns/resolver.js'
import { freeMemory } from '../../platform/memory/free-memory.js'
import { authenticate } from './authenticate.js'
import type { DnsAnswer, DnsQuestion, FromAuthenticator, ToAuthenticator } from './authentication-protocol.js'

type Message = Extract<ToAuthenticator, { readonly kind: 'message' }>

function mainThreadResolver(port: MessagePort): {
  readonly resolver: RecordResolver
  readonly hear: (answers: Extract<ToAuthenticator, { readonly kind: 'answers' }>['answers']) => void
} {
  const waiting = new Map<number, (answer: DnsAnswer) => void>()
  let last = 0
  let gathered: (readonly [number, DnsQuestion])[] = []

  function post(): void {
    port.postMessage({ kind: 'questions', questions: gathered } satisfies FromAuthenticator)
    gathered = []
  }

  function ask(asked: DnsQuestion): Promise<DnsAnswer> {
    return new Promise((resolve) => {
      last += 1
      waiting.set(last, resolve)
      if (gathered.length === 0) setImmediate(post)
      gathered.push([last, asked])
    })
  }

  return {
    resolver: {
      records: async (name, type) => (await ask({ name, type })) as Lookup<string>,
      mx: async (name) => (await ask({ name, type: 'MX' })) as Lookup<MxRecord>,
    },
    hear: (answers) => {
      for (const [question, answer] of answers) {
        waiting.get(question)?.(answer)
        waiting.delete(question)
      }
    },
  }
}

async function answerTo(message: Message, resolver: RecordResolver, port: MessagePort): Promise<void> {
  const { id, moved, connection, now } = message
  const raw = message.raw as Uint8Array<ArrayBuffer>
  const ahead = now - systemClock()
  try {
    const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength)
    const found = await authenticate(bytes, connection, { resolver, clock: () => systemClock() + ahead })
    const answer: FromAuthenticator = { kind: 'found', id, found, raw: moved ? raw : null }
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
const { resolver, hear } = mainThreadResolver(port)
port.on('message', (message: ToAuthenticator) => {
  if (message.kind === 'answers') hear(message.answers)
  else void answerTo(message, resolver, port)
})
