/** GET /ui/api/endpoints: where programs send their mail, for the samples of the pages. */
import { X509Certificate } from 'node:crypto'
import { z } from 'zod'
import { isLoopback } from '../../../base/platform/ip-address.js'
import { json } from '../http/answer.js'
import { type Route, route } from '../http/route/route.js'

interface EndpointsDeps {
  readonly publicUrl: string
  readonly hostname: string
  /** The open ports of submission. */
  readonly smtpEndpoints: readonly SmtpEndpoint[]
  /** The ports of the interface that have TLS. */
  readonly apiPorts: readonly number[]
  /** PEM, of the certificate that is served now. */
  readonly certificateOf: () => string
}

interface SmtpEndpoint {
  readonly host: string
  readonly port: number
  readonly tls: boolean
}

const endpoints = z
  .strictObject({
    api_url: z.string().meta({ example: 'https://mail.example.com:1443' }),
    smtp: z
      .array(
        z.strictObject({
          host: z.string().meta({ example: 'mail.example.com' }),
          port: z.int().meta({ example: 587 }),
          tls: z.enum(['starttls', 'implicit']),
          local_only: z.boolean().meta({ description: 'Whether only programs of the same machine reach it.' }),
        }),
      )
      .meta({ description: 'Those that other machines reach come first.' }),
    certificate: z
      .strictObject({
        pem: z.string().meta({ description: 'What a program must trust.' }),
        for_api: z.boolean().meta({ description: 'Whether the interface has it too, and not only SMTP.' }),
      })
      .nullable()
      .meta({ description: 'Of a self-signed certificate; null: programs trust the certificate already.' }),
  })
  .meta({ id: 'Endpoints' })

type Endpoints = z.output<typeof endpoints>

export function endpointsRoute(deps: EndpointsDeps): Route {
  return route({
    method: 'GET',
    path: '/endpoints',
    area: 'read',
    tag: 'Overview',
    summary: 'Show where programs send their mail',
    answers: { 200: { description: 'Addresses and ports.', schema: endpoints } },
    refusals: [],
    run: async () =>
      json(200, {
        api_url: deps.publicUrl,
        smtp: listSmtp(deps),
        certificate: describeCertificate(deps),
      } satisfies Endpoints),
  })
}

function listSmtp({ smtpEndpoints, hostname }: EndpointsDeps): Endpoints['smtp'] {
  return smtpEndpoints
    .map(({ host, port, tls }) => {
      const isLocal = host === 'localhost' || isLoopback(host)
      const kind = tls ? ('implicit' as const) : ('starttls' as const)
      // The self-signed certificate names localhost too.
      return { host: isLocal ? 'localhost' : hostname, port, tls: kind, local_only: isLocal }
    })
    .toSorted((one, other) => Number(one.local_only) - Number(other.local_only))
}

function describeCertificate({ certificateOf, publicUrl, apiPorts }: EndpointsDeps): Endpoints['certificate'] {
  const pem = certificateOf()
  const { issuer, subject } = new X509Certificate(pem)
  if (issuer !== subject) return null
  const { protocol, port } = new URL(publicUrl)
  // At another port, a proxy has a certificate of its own.
  return { pem, for_api: protocol === 'https:' && apiPorts.includes(port === '' ? 443 : Number(port)) }
}
