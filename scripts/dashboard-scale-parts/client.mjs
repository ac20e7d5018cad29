// A browser without pages: signs in, and times requests of the pages.
import { Agent, request } from 'undici'

export async function openClient({ port, workspaceId, email, password }) {
  const dispatcher = new Agent({ connect: { rejectUnauthorized: false } })
  const ask = (method, path, more = {}) =>
    request(`https://localhost:${port}/ui/api${path}`, {
      ...{ dispatcher, method, body: more.body },
      headers: { 'sec-fetch-site': 'same-origin', 'x-workspace-id': workspaceId, ...more.headers },
    })
  const signedIn = await ask('POST', '/session', {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, password }),
  })
  await signedIn.body.dump()
  if (signedIn.statusCode !== 201) throw new Error(`the sign-in answers ${signedIn.statusCode}`)
  const cookie = [signedIn.headers['set-cookie']].flat()[0].split(';')[0]
  return {
    get: async (path) => {
      const begun = performance.now()
      const answer = await ask('GET', path, { headers: { cookie } })
      const body = await answer.body.text()
      if (answer.statusCode !== 200) throw new Error(`${path}: ${answer.statusCode} ${body}`)
      return { time: performance.now() - begun, bytes: body.length }
    },
  }
}
