/** Shows programs that send one email by this service, to copy, and the settings of SMTP. */
import type { VNode } from 'preact'
import { saveText, sessionApi, unwrap } from '../../api/client.ts'
import type { components } from '../../api/session-schema.d.ts'
import { sessionInfo } from '../../api/session-state.ts'
import { useLoad } from '../../api/use-load.ts'
import { Button } from '../../components/button.tsx'
import { HelpLink } from '../../components/help-link.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Tabs } from '../../components/tabs.tsx'
import { Copy, CopyButton, Facts, Note } from '../../components/values.tsx'
import { CERTIFICATE_FILE, type Sample, type SampleValues, writeSamples } from './samples.ts'
import './samples.css'

type Endpoints = components['schemas']['Endpoints']

interface SendingSamplesProps {
  /** The key that was just made. Null if the page does not know one. */
  readonly apiKey: string | null
  /** The domain of the sender. Without it, the first domain of the workspace. */
  readonly domain?: string | undefined
}

export function SendingSamples({ apiKey, domain }: SendingSamplesProps): VNode {
  const values = useLoad(() => loadValues(domain), [domain])
  const to = sessionInfo.value?.user.email ?? ''
  return <Loaded from={values}>{(found) => <Samples {...found} apiKey={apiKey} to={to} />}</Loaded>
}

interface LoadedValues extends Pick<SampleValues, 'endpoints' | 'from'> {
  /** The domain of the sender if Posthorn refuses it for now. */
  readonly unverified: string | null
}

async function loadValues(domain: string | undefined): Promise<LoadedValues> {
  const [endpoints, steps] = await Promise.all([
    unwrap(sessionApi.GET('/ui/api/endpoints')),
    unwrap(sessionApi.GET('/ui/api/first-steps')),
  ])
  const { domain: first } = steps
  return {
    endpoints,
    from: `hello@${domain ?? first?.domain ?? 'YOUR_DOMAIN'}`,
    unverified: domain === undefined && first !== null && first.status !== 'verified' ? first.domain : null,
  }
}

function Samples({ unverified, ...values }: SampleValues & LoadedValues): VNode {
  const { endpoints, apiKey } = values
  const samples = writeSamples(values)
  return (
    <div class="samples">
      {unverified === null ? null : (
        <Note tone="warn">
          <p>Posthorn refuses emails from {unverified} until the domain is verified.</p>
        </Note>
      )}
      {endpoints.certificate === null ? null : <CertificateNote certificate={endpoints.certificate} />}
      <Tabs
        label="Languages"
        parameter="sample"
        tabs={samples.map((sample) => ({
          id: sample.id,
          title: sample.title,
          show: () => (
            <>
              {sample.id === 'smtp' ? <SmtpSettings endpoints={endpoints} apiKey={apiKey} /> : null}
              <Code sample={sample} />
            </>
          ),
        }))}
      />
      <p class="samples-more">
        <HelpLink topic="rest">All fields of a request</HelpLink>{' '}
        <HelpLink topic="clients">Package for Node.js</HelpLink>{' '}
        <HelpLink topic="applications">Settings of well-known programs</HelpLink>
      </p>
    </div>
  )
}

function Code({ sample: { title, code } }: { readonly sample: Sample }): VNode {
  return (
    <div class="sample">
      <CopyButton text={code} label={`the sample in ${title}`} />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: long lines scroll, and so they must be reachable by keyboard. */}
      <pre tabIndex={0}>{code}</pre>
    </div>
  )
}

function SmtpSettings({ endpoints: { smtp }, apiKey }: Pick<SampleValues, 'endpoints' | 'apiKey'>): VNode {
  return (
    <Facts
      facts={[
        ...smtp.map(({ host, port, tls, local_only: isLocal }) => ({
          name: `Server with ${tls === 'implicit' ? 'TLS from the start' : 'STARTTLS'}`,
          value: (
            <>
              <Copy text={`${host}:${port}`} label={`the server ${host}:${port}`} />
              {isLocal ? <span class="row-note">Only programs on the machine of Posthorn reach it.</span> : null}
            </>
          ),
        })),
        { name: 'User name', value: 'any, such as posthorn' },
        { name: 'Password', value: apiKey === null ? 'an API key' : <Copy text={apiKey} label="the password" /> },
      ]}
    />
  )
}

type Certificate = NonNullable<Endpoints['certificate']>

function CertificateNote({ certificate: { pem, for_api: isForApi } }: { readonly certificate: Certificate }): VNode {
  const where = isForApi ? 'The samples expect' : 'The sample of SMTP expects'
  return (
    <Note tone="info" title="The certificate of this service is self-signed">
      <p>
        Programs refuse it unless they know it. {where} it in the file <code>{CERTIFICATE_FILE}</code>.{' '}
        <HelpLink topic="certificates">Get a certificate that all programs trust</HelpLink>
      </p>
      <Button small onClick={() => saveText(pem, CERTIFICATE_FILE)}>
        Save the certificate
      </Button>
    </Note>
  )
}
