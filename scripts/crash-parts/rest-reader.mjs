// A recipient of the tracked messages: loads their pixels and follows their links, on one kept
// connection. Opens and clicks are answered before they are stored, so a kill may lose the last
// ones; but an answered link always leads to its address.
import { once } from 'node:events'
import { Agent, request } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'

/** `takeMessage`: text of a delivered message that was not read yet, or undefined. Resolves to the number of answers. */
export async function readMessages(signal, { port, ca }, takeMessage, ledger) {
  const agent = new Agent({ ca, keepAlive: true, maxSockets: 1 })
  let answers = 0
  while (!signal.aborted) {
    const message = takeMessage()
    if (message === undefined) await sleep(5)
    else for (const path of trackedPathsOf(message)) answers += await follow({ port, agent }, path, ledger)
  }
  agent.destroy()
  return answers
}

function trackedPathsOf(message) {
  const unfolded = message.replaceAll('=\r\n', '').replaceAll('=3D', '=')
  return new Set(unfolded.match(/\/v1\/track\/(?:open|click)\/[\w-]+/g) ?? [])
}

/** 1: it was answered. */
async function follow({ port, agent }, path, ledger) {
  const asked = request({ host: '127.0.0.1', port, agent, path })
  asked.end()
  const answer = await once(asked, 'response').then(
    ([answer]) => answer,
    () => null,
  )
  answer?.resume()
  if (answer === null || answer.statusCode === 503) return 0
  const isLink = path.includes('/click/')
  if (answer.statusCode !== (isLink ? 302 : 200)) ledger.strange(`${path}: ${answer.statusCode}`)
  else if (isLink && answer.headers.location !== 'https://shop.example/offer?a=1&b=2') {
    ledger.strange(`${path} leads to ${answer.headers.location}`)
  }
  return 1
}
