/** Self-signed certificates for servers in tests. */
import { isIP } from 'node:net'
import { generate } from 'selfsigned'

export interface Certificate {
  readonly cert: string
  readonly key: string
}

interface CertificateOptions {
  /** It expired long ago. */
  readonly expired?: boolean
  /** Its certificate follows in `cert`. Default: the certificate is its own issuer. */
  readonly issuer?: Certificate
}

/** A certificate for `names`, host names or addresses; trusted where it is given as an authority. */
export async function createSelfSigned(
  names: readonly string[],
  options: CertificateOptions = {},
): Promise<Certificate> {
  const { issuer } = options
  const altNames = names.map((name) =>
    isIP(name) === 0 ? ({ type: 2, value: name } as const) : ({ type: 7, ip: name } as const),
  )
  const pair = await generate([{ name: 'commonName', value: names[0] ?? 'test' }], {
    algorithm: 'sha256',
    ...(issuer === undefined ? {} : { ca: { cert: issuer.cert, key: issuer.key } }),
    extensions: [
      { name: 'basicConstraints', cA: issuer === undefined },
      { name: 'subjectAltName', altNames },
    ],
    ...(options.expired === true
      ? { notBeforeDate: new Date('2020-01-01'), notAfterDate: new Date('2020-02-01') }
      : { notBeforeDate: new Date('2020-01-01'), notAfterDate: new Date('2099-01-01') }),
  })
  return { cert: `${pair.cert}${issuer === undefined ? '' : `\n${issuer.cert}`}`, key: pair.private }
}
