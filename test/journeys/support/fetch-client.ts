/**
 * A client with nothing but Node.js: `fetch`, in a process of its own.
 *
 * Reads `{ url, key, headers, body }` from standard input and prints `{ status, body }`, or `{ error }` with the code
 * of a failure below HTTP. Authorities that it trusts beside the machine's are in NODE_EXTRA_CA_CERTS.
 */
import { text } from 'node:stream/consumers'

interface Asked {
  readonly url: string
  readonly key: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
}

const { url, key, headers, body } = JSON.parse(await text(process.stdin)) as Asked
try {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { ...headers, Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  })
  process.stdout.write(JSON.stringify({ status: answer.status, body: await answer.json() }))
} catch (error) {
  const { code } = ((error as Error).cause ?? {}) as { readonly code?: string }
  process.stdout.write(JSON.stringify({ error: code ?? String(error) }))
}
