/** The sessions of the user, in this and other browsers. */
import type { VNode } from 'preact'
import { endSession, sessionApi, unwrap } from '../../api/client.ts'
import type { paths } from '../../api/session-schema.d.ts'
import { useLoad } from '../../api/use-load.ts'
import { Button } from '../../components/button.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { notify } from '../../components/notices.tsx'
import { Section } from '../../components/page.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { StatusBadge, Time } from '../../components/values.tsx'

type Session = paths['/ui/api/sessions']['get']['responses'][200]['content']['application/json']['data'][number]

export function SessionsSection(): VNode {
  const sessions = useLoad(() => unwrap(sessionApi.GET('/ui/api/sessions')))
  const end = async ({ id }: Session): Promise<void> => {
    await unwrap(sessionApi.DELETE('/ui/api/sessions/{id}', { params: { path: { id } } }))
    notify('The session has ended.')
    sessions.reload()
  }
  const endOthers = async (): Promise<void> => {
    await unwrap(sessionApi.DELETE('/ui/api/sessions'))
    notify('All other sessions have ended.')
    sessions.reload()
  }
  const endAll = async (): Promise<void> => {
    await unwrap(sessionApi.DELETE('/ui/api/sessions', { params: { query: { all: 'true' } } }))
    endSession()
  }
  const hasOthers = (sessions.data?.data.length ?? 0) > 1
  const actions = (
    <>
      {hasOthers ? <Button onClick={endOthers}>End all others</Button> : null}
      <Button onClick={endAll}>Sign out everywhere</Button>
    </>
  )
  return (
    <Section title="Sessions" intro="The browsers in which you are signed in." actions={actions}>
      <Loaded from={sessions}>
        {({ data }) => (
          <Table caption="Your sessions" columns={buildColumns(end)} rows={data} rowKey={({ id }) => id} />
        )}
      </Loaded>
    </Section>
  )
}

function buildColumns(end: (session: Session) => Promise<void>): readonly Column<Session>[] {
  return [
    { title: 'Browser', show: ({ user_agent: agent, browser }) => <span title={agent}>{browser}</span> },
    { title: 'Address', show: ({ ip_address: address }) => address ?? '–' },
    { title: 'Started', show: ({ created_at: at }) => <Time at={at} /> },
    { title: 'Last used', show: ({ last_used_at: at }) => <Time at={at} kind="relative" /> },
    { title: 'Ends at the latest', show: ({ expires_at: at }) => <Time at={at} /> },
    {
      title: 'Actions',
      kind: 'actions',
      show: (session) =>
        session.current ? (
          <StatusBadge status="current" tone="info">
            This session
          </StatusBadge>
        ) : (
          <Button small onClick={() => end(session)} label={`End the session of ${session.browser}`}>
            End
          </Button>
        ),
    },
  ]
}
