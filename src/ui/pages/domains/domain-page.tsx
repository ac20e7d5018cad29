/** One domain: its state, the records to publish, reports about it, what it receives, its pace, and its settings. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import { api, sessionApi, unwrap } from '../../api/client.ts'
import { mayAdminister } from '../../api/session-state.ts'
import { type Loading, useLoad } from '../../api/use-load.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { notify } from '../../components/notices.tsx'
import { Page, Section } from '../../components/page.tsx'
import type { PageProps } from '../../components/page-route.ts'
import { showDomain } from '../../components/show-domain.ts'
import { Tabs } from '../../components/tabs.tsx'
import { Facts, Note, StatusBadge, Time } from '../../components/values.tsx'
import type { Domain, DomainPartProps } from './domain.ts'
import { DomainPace } from './domain-pace.tsx'
import { DomainRecords } from './domain-records.tsx'
import { DomainReports } from './domain-reports.tsx'
import { KeyRotation } from './key-rotation.tsx'
import { NextStep } from './next-step.tsx'
import type { ObservedDns } from './observed-dns.ts'
import { Receiving } from './receiving.tsx'
import { TrackingSettings } from './tracking-settings.tsx'

export function DomainPage({ params: { id = '' } }: PageProps): VNode {
  const path = { path: { id } }
  const domain = useLoad(() => unwrap(api.GET('/v1/domains/{id}', { params: path })), [id])
  const dns = useLoad(() => unwrap(sessionApi.GET('/ui/api/domains/{id}/dns', { params: path })), [id])
  const verify = async (): Promise<void> => {
    try {
      domain.replace(await unwrap(api.POST('/v1/domains/{id}/verify', { params: path })))
      notify('All records are correct. The domain is verified.')
    } catch (thrown) {
      domain.reload()
      throw thrown
    } finally {
      dns.reload()
    }
  }
  const check = (
    <Button tone="primary" onClick={verify}>
      Check the records now
    </Button>
  )
  return (
    <Page
      title={domain.data === undefined ? 'Domain' : showDomain(domain.data.domain)}
      badge={domain.data === undefined ? null : <StatusBadge status={domain.data.status} />}
      up={{ href: '/domains', label: 'Domains' }}
      intro={domain.data === undefined ? undefined : describeForm(domain.data.domain)}
      actions={mayAdminister.value && domain.data !== undefined ? check : undefined}
    >
      <Loaded from={domain}>{(data) => <DomainParts domain={data} from={domain} dns={dns.data} />}</Loaded>
    </Page>
  )
}

/** DNS and programs know a name with other letters by its ASCII form. */
function describeForm(ascii: string): VNode | undefined {
  if (showDomain(ascii) === ascii) return undefined
  return (
    <>
      In DNS and in programs: <code>{ascii}</code>
    </>
  )
}

interface PartsProps {
  readonly domain: Domain
  readonly from: Loading<Domain>
  readonly dns: ObservedDns | undefined
}

function DomainParts({ domain, from, dns }: PartsProps): VNode {
  const { created_at: created, verified_at: verified, checked_at: checked, fails_at: failsAt } = domain
  const part = { domain, onChanged: from.replace }
  return (
    <>
      {domain.status === 'verified' && failsAt === null ? <NextStep domain={domain.domain} /> : null}
      {failsAt === null ? null : (
        <Note tone="bad" title="Records of this domain are missing in DNS">
          <p>
            Unless they return, sending from it stops at <Time at={failsAt} />. Publish the records below that are not
            correct, then check them.
          </p>
        </Note>
      )}
      <Facts
        facts={[
          { name: 'Added', value: <Time at={created} /> },
          { name: 'Verified', value: <Time at={verified} otherwise="Not yet" /> },
          { name: 'Last check of all records', value: <Time at={checked} otherwise="Not yet" /> },
          { name: 'Receives mail', value: domain.inbound ? 'Yes' : 'No' },
        ]}
      />
      <Tabs
        label="Parts of the domain"
        tabs={[
          { id: 'records', title: 'DNS records', show: () => <DomainRecords domain={domain} dns={dns} /> },
          { id: 'reports', title: 'Reports', show: () => <DomainReports domain={domain} /> },
          { id: 'receiving', title: 'Receiving', show: () => <Receiving {...part} /> },
          { id: 'pace', title: 'Pace and bounces', show: () => <DomainPace domain={domain} /> },
          { id: 'settings', title: 'Settings', show: () => <SettingParts {...part} /> },
        ]}
      />
    </>
  )
}

function SettingParts(part: DomainPartProps): VNode {
  if (!mayAdminister.value) return <p class="soft">Owners and admins of the workspace can change the settings.</p>
  return (
    <>
      <TrackingSettings {...part} />
      <KeyRotation {...part} />
      <DomainDeletion domain={part.domain} />
    </>
  )
}

function DomainDeletion({ domain: { id, domain } }: { readonly domain: Domain }): VNode {
  const [open, setOpen] = useState(false)
  const [, navigate] = useLocation()
  const remove = async (): Promise<void> => {
    await unwrap(api.DELETE('/v1/domains/{id}', { params: { path: { id } } }))
    notify(`${domain} is deleted.`)
    navigate('/domains')
  }
  return (
    <Section title="Delete the domain" intro="Nothing more is sent from it, and its queued mail fails.">
      <Button tone="danger" onClick={() => setOpen(true)}>
        Delete {domain}
      </Button>
      {open ? (
        <ConfirmDialog
          title={`Delete ${domain}?`}
          name={domain}
          action="Delete the domain"
          onConfirm={remove}
          onClose={() => setOpen(false)}
        >
          <p>Nothing more is sent from this domain or received for it, and its queued mail fails.</p>
        </ConfirmDialog>
      ) : null}
    </Section>
  )
}
