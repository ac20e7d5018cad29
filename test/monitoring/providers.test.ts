import fc from 'fast-check'
import t from 'tap'
import { providerOf, providers } from '../../src/monitoring/providers.js'

const cases: readonly (readonly [mx: string | null, provider: string])[] = [
  [null, 'none'],
  ['aspmx.l.google.com', 'google'],
  ['gmail-smtp-in.l.google.com', 'google'],
  ['ALT1.ASPMX.L.GOOGLE.COM', 'google'],
  ['aspmx3.googlemail.com', 'google'],
  ['example-org.mail.protection.outlook.com', 'microsoft'],
  ['example-org.a-v1.mx.microsoft', 'microsoft'],
  ['mx.microsoft', 'microsoft'],
  ['mta5.am0.yahoodns.net', 'yahoo'],
  ['mx01.mail.icloud.com', 'apple'],
  ['mx00.gmx.net', 'gmx'],
  ['mx-ha02.web.de', 'gmx'],
  ['mx00.kundenserver.de', 'ionos'],
  ['mx00.t-online.de', 'telekom'],
  ['route1.mx.cloudflare.net', 'cloudflare'],
  ['www.cloudflare.net', 'other'],
  ['mxa-0001.pphosted.com', 'proofpoint'],
  ['google.com', 'google'],
  ['notgoogle.com', 'other'],
  ['google.com.example.org', 'other'],
  ['mx.example.org', 'other'],
  ['localhost', 'other'],
  ['constructor', 'other'],
  ['x.__proto__', 'other'],
  ['', 'other'],
  ['.', 'other'],
  ['..', 'other'],
]

t.test('the provider of a host', async (t) => {
  for (const [mx, provider] of cases) t.equal(providerOf(mx), provider, String(mx))
})

t.test('any name has a provider of the list', async () => {
  fc.assert(
    fc.property(fc.oneof(fc.domain(), fc.string()), (name) => {
      if (!providers.includes(providerOf(name))) throw new Error(name)
    }),
  )
})
