/** The members of the workspace and the invitations to it. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { api, unwrap } from '../../api/client.ts'
import { type ListPage, toOffsetPage, usePages } from '../../api/use-pages.ts'
import { Button } from '../../components/button.tsx'
import { Empty } from '../../components/loaded.tsx'
import { Page, Section } from '../../components/page.tsx'
import { type Column, PagedTable } from '../../components/table.tsx'
import { StatusBadge, Time } from '../../components/values.tsx'
import { mayAdminister, sessionInfo, workspace } from '../../session/session-state.ts'
import { InvitationSection } from './invitation-section.tsx'
import { InviteDialog } from './invite-dialog.tsx'
import { currentWorkspaceId, type Member, nameMember } from './member.ts'
import { RemoveMemberDialog } from './remove-member-dialog.tsx'
import { RoleDialog } from './role-dialog.tsx'
import { TransferDialog } from './transfer-dialog.tsx'

const PAGE_SIZE = 50

type Act = 'role' | 'removal' | 'transfer'

const dialogs = { role: RoleDialog, removal: RemoveMemberDialog, transfer: TransferDialog } as const

export function MemberListPage(): VNode {
  const members = usePages(loadMembers)
  const [inviting, setInviting] = useState(false)
  /** Counts invitations, so that their list is loaded again. */
  const [invited, setInvited] = useState(0)
  const [shown, setShown] = useState<{ readonly act: Act; readonly member: Member } | null>(null)
  const OpenDialog = shown === null ? null : dialogs[shown.act]
  const changed = (): void => {
    members.reload()
    setInvited((before) => before + 1)
  }
  const invite = (
    <Button tone="primary" onClick={() => setInviting(true)}>
      Invite a person
    </Button>
  )
  return (
    <Page
      title="Members"
      intro={`The people who belong to ${workspace.value?.name ?? 'this workspace'}, and what they may do.`}
      actions={mayAdminister.value ? invite : undefined}
    >
      <PagedTable
        caption="Members of this workspace"
        pages={members}
        columns={[
          ...columns,
          ...(mayAdminister.value ? [buildActions((act, member) => setShown({ act, member }))] : []),
        ]}
        rowKey={({ id }) => id}
        empty={<Empty title="No member" />}
      />
      <Section title="Invitations" intro="People who were asked to join and have not answered yet.">
        <InvitationSection round={invited} />
      </Section>
      {inviting ? <InviteDialog onInvited={changed} onClose={() => setInviting(false)} /> : null}
      {shown === null || OpenDialog === null ? null : (
        <OpenDialog member={shown.member} onChanged={changed} onClose={() => setShown(null)} />
      )}
    </Page>
  )
}

const columns: readonly Column<Member>[] = [
  {
    title: 'Person',
    show: (member) => (
      <>
        {nameMember(member)}
        {member.user.id === sessionInfo.value?.user.id ? <span class="soft"> (you)</span> : null}
        {member.user.full_name === '' ? null : <span class="row-note">{member.user.email}</span>}
      </>
    ),
  },
  { title: 'Role', show: ({ role }) => <StatusBadge status={role} tone={role === 'member' ? 'neutral' : 'info'} /> },
  { title: 'Joined', show: ({ joined_at: at }) => <Time at={at} kind="day" /> },
]

/** The owner can be neither changed nor removed; only the owner transfers the workspace. */
function buildActions(onAct: (act: Act, member: Member) => void): Column<Member> {
  return {
    title: 'Actions',
    kind: 'actions',
    show: (member) => {
      const name = nameMember(member)
      if (member.role === 'owner') return null
      return (
        <>
          <Button small onClick={() => onAct('role', member)} label={`Change the role of ${name}`}>
            Change role
          </Button>
          {workspace.value?.role === 'owner' ? (
            <Button small onClick={() => onAct('transfer', member)} label={`Make ${name} the owner`}>
              Make owner
            </Button>
          ) : null}
          <Button small onClick={() => onAct('removal', member)} label={`Remove ${name}`}>
            Remove
          </Button>
        </>
      )
    },
  }
}

async function loadMembers(position: string | undefined): Promise<ListPage<Member>> {
  const query = { workspaceId: currentWorkspaceId(), limit: PAGE_SIZE + 1, offset: Number(position ?? 0) }
  const { data } = await unwrap(api.GET('/v1/members', { params: { query } }))
  return toOffsetPage(data, position, PAGE_SIZE)
}
