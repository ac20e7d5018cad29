// A browser without pages: signs in, and times requests of the pages.
import { setTimeout as pause } from 'node:timers/promises'
import { createClient } from '../lib/https-client.mjs'

/** Milliseconds from one request to the next, so that all of them stay below the limit of a person. */
const PAUSE = 50

export async function openClient({ port, workspaceId, email, password }) {
  const headers = { 'sec-fetch-site': 'same-origin', 'x-workspace-id': workspaceId }
  const { ask } = createClient({ port, headers, wait: 120_000 })
  const signedIn = await ask('POST', '/ui/api/session', { email, password })
  if (signedIn?.status !== 201) throw new Error(`the sign-in answers ${signedIn?.status}`)
  const cookie = [signedIn.headers['set-cookie']].flat()[0].split(';')[0]
  return {
    get: async (path) => {
      await pause(PAUSE)
      const begun = performance.now()
      const answer = await ask('GET', `/ui/api${path}`, undefined, { cookie })
      if (answer?.status !== 200) throw new Error(`${path}: ${answer?.status} ${answer?.body}`)
      return { time: performance.now() - begun, bytes: answer.body.length }
    },
  }
}
