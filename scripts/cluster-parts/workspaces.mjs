// Many workspaces that send at each node at once.
import { createClient } from '../lib/https-client.mjs'

const CLIENTS = 3

/** `count` workspaces with a domain and a key each. */
export async function openWorkspaces(node, count) {
  return Array.from({ length: count }, (_, at) => {
    const domain = `w${at}.test`
    const made = node.command('workspace', 'create', `Workspace ${at}`, '--email', `owner${at}@sink.test`)
    node.command('domain', 'add', domain, '--force', '--workspace', made.workspace_id)
    return { key: made.api_key, domain }
  })
}

/** Emails of random workspaces, a few recipients each. Resolves to the counts of answers by status. */
export async function sendFromAll(signal, node, workspaces, random) {
  const counts = {}
  const client = createClient({ port: node.ports.api, sockets: CLIENTS })
  const send = async () => {
    while (!signal.aborted) {
      const { key, domain } = workspaces[Math.floor(random() * workspaces.length)]
      const to = Array.from({ length: 1 + Math.floor(random() * 3) }, (_, at) => `someone${at}@sink.test`)
      const email = { from: `app@${domain}`, to, subject: 'text', text: 'some text' }
      const answer = await client.ask('POST', '/v1/emails', email, { authorization: `Bearer ${key}` })
      const status = answer?.status ?? 'none'
      counts[status] = (counts[status] ?? 0) + 1
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, send))
  client.close()
  return counts
}
