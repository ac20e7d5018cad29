/** A workspace as the operator sees it. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { sessionApi, unwrap } from '../../api/client.ts'
import { type Loading, useLoad } from '../../api/use-load.ts'
import { Button } from '../../components/button.tsx'
import { Form, FormActions, SubmitButton } from '../../components/form.tsx'
import { readText } from '../../components/form-values.ts'
import { formatBytes, formatNumber } from '../../components/format.ts'
import { Loaded } from '../../components/loaded.tsx'
import { notify } from '../../components/notices.tsx'
import { Page, Section } from '../../components/page.tsx'
import type { PageProps } from '../../components/page-route.ts'
import { Copy, Facts, StatusBadge, Time } from '../../components/values.tsx'
import type { OperatedWorkspace } from './operator-types.ts'
import { PasswordLink } from './password-link.tsx'
import { loadPlans, PlanField } from './plan-field.tsx'

export function WorkspacePage({ params: { id = '' } }: PageProps): VNode {
  const path = { id }
  const loading = useLoad(() => unwrap(sessionApi.GET('/ui/api/operator/workspaces/{id}', { params: { path } })), [id])
  const { data } = loading
  return (
    <Page
      title={data?.name ?? 'Workspace'}
      badge={data?.is_operator === true ? <StatusBadge status="operator" tone="info" /> : undefined}
      up={{ href: '/operator/workspaces', label: 'All workspaces' }}
      intro={<Copy text={id} label="the id of the workspace" />}
    >
      <Loaded from={loading}>
        {(workspace) => (
          <>
            <Facts facts={listFacts(workspace)} />
            <PlanSection workspace={workspace} loading={loading} />
            {workspace.owner.has_password ? null : <LinkSection workspace={workspace} />}
          </>
        )}
      </Loaded>
    </Page>
  )
}

function listFacts(workspace: OperatedWorkspace): Parameters<typeof Facts>[0]['facts'] {
  const { id, owner, members, created_at: created, spam_training: training } = workspace
  const { emails_sent: sent, emails_limit: limit, inbound_bytes: held, inbound_limit: room } = workspace
  return [
    { name: 'Owner', value: owner.email },
    { name: 'Members', value: formatNumber(members) },
    { name: 'Emails in the last 30 days', value: ofLimit(sent, limit, formatNumber) },
    { name: 'Stored inbound mail', value: ofLimit(held, room, formatBytes) },
    {
      name: 'Spam training',
      value: `${formatNumber(training.learned.spam)} spam, ${formatNumber(training.learned.ham)} ham`,
    },
    { name: 'Created', value: <Time at={created} /> },
    {
      name: 'Queue',
      value: <Link href={`/operator/queue?tab=entries&workspace_id=${encodeURIComponent(id)}`}>Show its entries</Link>,
    },
  ]
}

function ofLimit(used: number, limit: number | null, format: (value: number) => string): string {
  return limit === null ? `${format(used)}, no limit` : `${format(used)} of ${format(limit)}`
}

interface PlanSectionProps {
  readonly workspace: OperatedWorkspace
  readonly loading: Loading<OperatedWorkspace>
}

function PlanSection({ workspace: { id, plan }, loading }: PlanSectionProps): VNode {
  const plans = useLoad(loadPlans)
  const change = async (values: FormData): Promise<void> => {
    const body = { plan: readText(values, 'plan') }
    loading.replace(
      await unwrap(sessionApi.PATCH('/ui/api/operator/workspaces/{id}', { params: { path: { id } }, body })),
    )
    notify(`The workspace has the plan “${body.plan}”.`)
  }
  return (
    <Section title="Plan" intro="A change takes effect with the next request.">
      <Loaded from={plans}>
        {(data) => (
          <Form onSubmit={change}>
            <PlanField plans={data} value={plan} />
            <FormActions>
              <SubmitButton tone="plain">Change the plan</SubmitButton>
            </FormActions>
          </Form>
        )}
      </Loaded>
    </Section>
  )
}

function LinkSection({ workspace: { id, owner } }: { readonly workspace: OperatedWorkspace }): VNode {
  const [link, setLink] = useState<{ readonly url: string; readonly expires_at: string } | null>(null)
  const make = async (): Promise<void> => {
    const params = { path: { id } }
    setLink(await unwrap(sessionApi.POST('/ui/api/operator/workspaces/{id}/password-link', { params })))
  }
  return (
    <Section title="Sign-in of the owner" intro={`${owner.email} has not set a password yet.`}>
      {link === null ? (
        <Button onClick={make}>Make a link that sets the password</Button>
      ) : (
        <PasswordLink link={link} email={owner.email} />
      )}
    </Section>
  )
}
