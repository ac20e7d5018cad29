/**
 * Composes the frame of a broadcast without blocking the main thread: short content at once, longer content on a
 * separate thread, one broadcast at a time.
 */
import { Worker } from 'node:worker_threads'
import { domainOf } from '../../base/mail/address.js'
import { Refusal, type RefusalKind } from '../../base/mail/refusal.js'
import { threadOptions } from '../../base/platform/processes/thread-options.js'
import { createSerialRunner } from '../../base/platform/serial-runner.js'
import { decodeFrame } from '../../records/messages/frames/encode-frame.js'
import type { TrackingHost } from '../tracking/tracking-host.js'
import type { BroadcastContent } from './broadcast-content.js'
import { type BroadcastIds, type ComposedBroadcast, composeFrame, type FrameSettings } from './compose-frame.js'

/** The most characters of both bodies that are composed on the main thread, which takes a few milliseconds. */
const MAX_SHORT = 8_192

/** Only one thread runs at a time, because it takes tens of megabytes. */
const runInTurn = createSerialRunner()

export class BroadcastComposer {
  /** `hostname` is the domain of Message-IDs, `publicUrl` is `service.public_url`. */
  constructor(
    private readonly hostname: string,
    private readonly publicUrl: string,
    private readonly trackingHost: Pick<TrackingHost, 'baseFor'>,
  ) {}

  /** Rejects with a Refusal `invalid-parameter`, `invalid-template-variables` or `too-large` that names the field. */
  async compose(content: BroadcastContent, ids: BroadcastIds): Promise<ComposedBroadcast> {
    const { hostname, publicUrl } = this
    const base = this.trackingHost.baseFor(domainOf(content.sender.address))
    const settings = { ...ids, hostname, publicUrl, base }
    const size = (content.html?.length ?? 0) + (content.text?.length ?? 0)
    if (size <= MAX_SHORT) return composeFrame(content, settings)
    return runInTurn(() => composeOnThread({ content, settings }))
  }
}

/** The job of the thread. */
export interface ComposeJob {
  readonly content: BroadcastContent
  readonly settings: FrameSettings
}

export type ComposeAnswer =
  | { readonly kind: 'composed'; readonly frame: Uint8Array; readonly links: readonly string[] }
  | {
      readonly kind: 'refused'
      readonly refusal: RefusalKind
      readonly message: string
      readonly details: Refusal['details']
    }

async function composeOnThread(workerData: ComposeJob): Promise<ComposedBroadcast> {
  const worker = new Worker(new URL('./compose-worker.js', import.meta.url), { ...threadOptions, workerData })
  try {
    const answer = await receiveAnswer(worker)
    if (answer.kind === 'refused') throw new Refusal(answer.refusal, answer.message, answer.details)
    const { frame, links } = answer
    return { frame: decodeFrame(Buffer.from(frame.buffer, frame.byteOffset, frame.byteLength)), links }
  } finally {
    await worker.terminate()
  }
}

function receiveAnswer(worker: Worker): Promise<ComposeAnswer> {
  return new Promise((resolve, reject) => {
    worker.once('message', (answer: ComposeAnswer) => resolve(answer))
    worker.once('error', reject)
    worker.once('exit', () => reject(new Error('the thread that composes broadcasts has ended without an answer')))
  })
}
