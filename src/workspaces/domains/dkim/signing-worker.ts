/**
 * The signing thread: it signs the messages of a batch one after the other and answers.
 *
 * A message that cannot be signed does not affect the others of its batch.
 */
import { type MessagePort, parentPort } from 'node:worker_threads'
import { sealArc } from './arc-seal.js'
import { type DkimKey, signDkim } from './sign.js'
import type { SignerMessage, SigningAnswer, SigningBatch, SigningJob } from './signing-protocol.js'

function serve(port: MessagePort): void {
  let keys: DkimKey[] = []
  port.on('message', (message: SignerMessage) => {
    if (message.kind === 'forget') {
      keys = []
      return
    }
    keys.push(...message.keys)
    port.postMessage(signBatch(message, keys))
  })
}

function signBatch({ jobs, bytes }: SigningBatch, keys: readonly DkimKey[]): readonly SigningAnswer[] {
  let at = bytes.byteOffset
  return jobs.map((job) => {
    const raw = Buffer.from(bytes.buffer, at, job[2])
    at += raw.length
    return signJob(job, raw, keys)
  })
}

function signJob([number, now, , bodyHash, arc]: SigningJob, raw: Buffer, keys: readonly DkimKey[]): SigningAnswer {
  try {
    const key = keys[number]
    if (key === undefined) throw new Error(`no key has the number ${number}`)
    return arc === undefined ? signDkim(raw, key, now, bodyHash) : sealArc(raw, key, now, arc, bodyHash)
  } catch (error) {
    return { failure: error instanceof Error ? error.message : String(error) }
  }
}

if (parentPort === null) throw new Error('this file runs as a worker thread')
serve(parentPort)
