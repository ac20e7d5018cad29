/** Fills the true addresses of this server into the samples of the documentation, which are written for the quickstart. */
import type { components } from '../../api/session-schema.d.ts'

type Endpoints = components['schemas']['Endpoints']

/** Where the quickstart listens by default. */
const API = 'https://localhost:1443'
const TRUST = '--cacert data/tls/cert.pem '
const submission = [
  { port: 1587, tls: 'starttls' },
  { port: 1465, tls: 'implicit' },
] as const

export function fillSample(text: string, endpoints: Endpoints | undefined): string {
  if (endpoints === undefined) return text
  const { api_url: url, smtp, certificate } = endpoints
  const trusted = certificate?.for_api === true ? text : text.replaceAll(TRUST, '')
  return submission.reduce(
    (filled, { port, tls }) => {
      const found = smtp.find((one) => one.tls === tls)
      if (found === undefined) return filled
      return filled
        .replaceAll(`localhost:${port}`, `${found.host}:${found.port}`)
        .replaceAll(`'localhost', ${port}`, `'${found.host}', ${found.port}`)
    },
    trusted.replaceAll(API, url),
  )
}
