/** The thread that composes the frame of one broadcast, answers, and ends. */
import { parentPort, workerData } from 'node:worker_threads'
import { Refusal } from '../../base/mail/refusal.js'
import { encodeFrame } from '../../records/messages/frames/encode-frame.js'
import type { ComposeAnswer, ComposeJob } from './compose-broadcast.js'
import { composeFrame } from './compose-frame.js'

function compose({ content, settings }: ComposeJob): ComposeAnswer {
  try {
    const { frame, links } = composeFrame(content, settings)
    return { kind: 'composed', frame: encodeFrame(frame), links }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const { kind: refusal, message, details } = error
    return { kind: 'refused', refusal, message, details }
  }
}

parentPort?.postMessage(compose(workerData))
