/**
 * The thread that makes the requests of webhooks. It carries the load of undici, TLS and signatures for the main
 * thread.
 *
 * It sends the outcomes of a few milliseconds together, which saves the main thread and the writer most of the work.
 */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { errorMessageOf } from '../../base/platform/errors.js'
import { createHttpClient, type HttpClient } from '../../base/platform/http/http-client.js'
import { HttpFault } from '../../base/platform/http/http-fault.js'
import { EndpointQueue } from './endpoint-queue.js'
import type { ComposedBody } from './formats/event-format.js'
import { composeEvent } from './formats/formats.js'
import {
  isDelivered,
  type JobOutcome,
  MAX_REQUESTS,
  type RequestJob,
  type RequestOutcome,
  type RequestThreadData,
} from './request-protocol.js'
import { signRequest, signWithKeyPair } from './signing.js'

/** Bytes of an answer that we keep with the delivery, and how many more we read. */
const MAX_ANSWER_BYTES = 4_096
const MAX_DROPPED_BYTES = 65_536
/** Milliseconds between two reports of outcomes. */
const REPORT_INTERVAL = 5

function serve(port: MessagePort, { userAgent, authorities }: RequestThreadData): void {
  const client = createHttpClient({
    // Webhooks of all workspaces share the connections to a host, so none waits for those of another.
    maxConnections: MAX_REQUESTS,
    maxBodyBytes: MAX_ANSWER_BYTES,
    maxDroppedBytes: MAX_DROPPED_BYTES,
    authorities,
  })
  const report = collectOutcomes(port)
  const queue = new EndpointQueue<RequestJob>({
    run: async (job) => {
      const outcome = await client.then((ready) => runJob(ready, job, userAgent))
      report([job.number, outcome])
      return isDelivered(outcome)
    },
    giveBack: (job) => report([job.number, { kind: 'not-made' }]),
  })
  port.on('message', (jobs: readonly RequestJob[]) => {
    for (const job of jobs) queue.add(job)
  })
}

function collectOutcomes(port: MessagePort): (outcome: JobOutcome) => void {
  let waiting: JobOutcome[] = []
  return (outcome) => {
    if (waiting.push(outcome) > 1) return
    setTimeout(() => {
      port.postMessage(waiting)
      waiting = []
    }, REPORT_INTERVAL)
  }
}

/** Never rejects. */
async function runJob(client: HttpClient, job: RequestJob, userAgent: string): Promise<RequestOutcome> {
  try {
    return await request(client, job, userAgent)
  } catch (error) {
    const reason = error instanceof HttpFault ? error.message : `the request cannot be made: ${errorMessageOf(error)}`
    return { kind: 'fault', reason }
  }
}

async function request(client: HttpClient, job: RequestJob, userAgent: string): Promise<RequestOutcome> {
  const { event, url, addresses, timeout, deliveryId, attempt, at, secret, previousSecret, verificationSecret } = job
  const { body, contentType } = composeBody(job)
  const headers = {
    ...authorize(job),
    ...job.headers,
    'Content-Type': contentType,
    'User-Agent': userAgent,
    'X-Service-Delivery': deliveryId,
    'X-Service-Attempt': String(attempt),
    ...signRequest({ id: event.id, at, body, secret, previousSecret }),
    ...(verificationSecret === null ? {} : signWithKeyPair(verificationSecret, at, body)),
  }
  const begun = performance.now()
  const answer = await client.post({ url: new URL(url), headers, body, timeout, addresses })
  return { kind: 'answer', status: answer.status, body: answer.body.toString(), took: performance.now() - begun }
}

function composeBody({ body, format, event, email, at, secret }: RequestJob): ComposedBody {
  if (body !== null) {
    const { buffer, byteOffset, byteLength } = body.bytes
    return { body: Buffer.from(buffer, byteOffset, byteLength), contentType: body.contentType }
  }
  const { id, type, created_at: createdAt, data } = event
  return composeEvent(format, { id, type, createdAt, data, email, at, secret })
}

/** A field of the webhook's own goes before the credentials of its URL. */
function authorize({ login, headers }: RequestJob): Readonly<Record<string, string>> {
  if (login === null || Object.keys(headers).some((name) => name.toLowerCase() === 'authorization')) return {}
  return { Authorization: `Basic ${Buffer.from(login).toString('base64')}` }
}

if (parentPort === null) throw new Error('this file runs as a worker thread')
serve(parentPort, workerData as RequestThreadData)
