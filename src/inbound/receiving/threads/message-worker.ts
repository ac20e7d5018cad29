/**
 * The thread that authenticates and analyzes inbound messages, started by `message-thread`. It checks several messages
 * concurrently: each yields while it waits for DNS and between the pieces of its body. Apart from that, each is done
 * before the next one begins.
 */
import { type MessagePort, parentPort } from 'node:worker_threads'
import { scanHeader } from '../../../base/mail/header-fields.js'
import { Refusal } from '../../../base/mail/refusal.js'
import { type Clock, systemClock } from '../../../base/platform/clock.js'
import { freeMemory } from '../../../base/platform/memory/free-memory.js'
import { parseJson, toJson } from '../../../base/storage/tables/columns.js'
import { authenticate } from '../authentication/authenticate.js'
import { CheckMemory } from '../authentication/check-memory.js'
import { ThreadResolver } from './dns-questions.js'
import { packForm } from './packed-form.js'
import { makeStoredForm } from './stored-form.js'
import type {
  FoundMessage,
  FromMessageThread,
  MessageToCheck,
  RefusedMessage,
  ToMessageThread,
} from './thread-protocol.js'

/**
 * The clock of the main thread, which each message tells. It is as far ahead of ours as the message that waited least
 * for this thread has seen it.
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

/** The state that all messages of the thread share. */
interface Thread {
  readonly clock: ReturnType<typeof createMainClock>
  readonly dns: ThreadResolver
  readonly post: (message: FoundMessage | RefusedMessage) => void
  readonly memory: CheckMemory
}

/**
 * Each outcome leaves at once, so that the main thread and the writer work on it while the thread checks the next
 * message.
 */
function createPost(port: MessagePort): Thread['post'] {
  return (message) => {
    const memory = message.kind === 'found' ? message.raw : null
    port.postMessage(message satisfies FromMessageThread, memory === null ? [] : [memory.buffer])
  }
}

async function handleMessage(message: MessageToCheck, { clock, dns, memory, post }: Thread): Promise<void> {
  const { id, moved, now } = message
  const { connection, trace } = parseJson(message.facts)
  const bytes = message.raw
  clock.note(now)
  try {
    const raw = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    const header = scanHeader(raw)
    const deps = { resolver: dns, clock: clock.read, memory }
    const authentication = await authenticate(raw, connection, deps, header)
    const form = trace === null ? null : makeStoredForm({ raw, header }, trace, authentication, connection)
    post({
      kind: 'found',
      id,
      raw: moved ? bytes : null,
      authentication: toJson(authentication),
      form: form === null ? null : packForm(form),
    })
  } catch (error) {
    if (moved) freeMemory(bytes)
    const refusal = error instanceof Refusal ? { kind: error.kind, message: error.message } : null
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
    post({ kind: 'refused', id, refusal, message: text })
  }
}

const port = parentPort
if (port === null) throw new Error('inbound mail is looked at in a worker thread')
const clock = createMainClock()
const thread: Thread = {
  clock,
  dns: new ThreadResolver(port, clock.read),
  post: createPost(port),
  memory: new CheckMemory(),
}
port.on('message', (message: ToMessageThread) => {
  if (message.kind === 'answers') thread.dns.onAnswers(message.answers)
  else for (const one of message.messages) setImmediate(() => void handleMessage(one, thread))
})
port.postMessage({ kind: 'ready' } satisfies FromMessageThread)
