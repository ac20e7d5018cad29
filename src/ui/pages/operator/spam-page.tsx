/** Shows what each workspace has taught the spam classifier, and how to teach it more. */
import type { VNode } from 'preact'
import { formatNumber } from '../../components/format.ts'
import { Page, Section } from '../../components/page.tsx'
import type { Column } from '../../components/table.tsx'
import { Copy, CopyButton, StatusBadge } from '../../components/values.tsx'
import type { OperatedWorkspace } from './operator-types.ts'
import { WorkspaceTable } from './workspace-table.tsx'

export function SpamPage(): VNode {
  return (
    <Page
      title="Spam training"
      intro="Each workspace trains its own classifier from the inbound mail that its members mark as spam or as wanted mail, which the commands call ham. The classifier has its full weight after 200 of each from the last 180 days."
    >
      <WorkspaceTable caption="What the classifiers have learned" columns={columns} />
      <Section
        title="Learn from a folder"
        intro="Run this on the server, once with spam and once with ham. The folder has one message in each file, or is a Maildir. The classifier skips messages that it has learned before, and learns a message again if its verdict has changed."
      >
        <p>
          <Copy text={learnCommand('spam', 'ID')} label="the command that learns spam" />
        </p>
        <p>
          <Copy text={learnCommand('ham', 'ID')} label="the command that learns ham" />
        </p>
      </Section>
    </Page>
  )
}

function learnCommand(verdict: 'spam' | 'ham', workspaceId: string): string {
  return `posthorn spam learn FOLDER --as ${verdict} --workspace ${workspaceId}`
}

type Row = OperatedWorkspace

const columns: readonly Column<Row>[] = [
  { title: 'Workspace', show: ({ name }) => name },
  { title: 'Spam', kind: 'number', show: ({ spam_training: { learned } }) => formatNumber(learned.spam) },
  { title: 'Ham', kind: 'number', show: ({ spam_training: { learned } }) => formatNumber(learned.ham) },
  {
    title: 'Last 180 days',
    kind: 'number',
    show: ({ spam_training: { recent } }) => `${formatNumber(recent.spam)} spam, ${formatNumber(recent.ham)} ham`,
  },
  { title: 'Known words', kind: 'number', show: ({ spam_training: { words } }) => formatNumber(words) },
  { title: 'Weight', show: ({ spam_training: { seasoned } }) => <Weight seasoned={seasoned} /> },
  {
    title: 'Command',
    isPlain: true,
    show: ({ id, name }) => (
      <CopyButton text={learnCommand('spam', id)} label={`the command for ${name}`}>
        Copy the command
      </CopyButton>
    ),
  },
]

function Weight({ seasoned }: { readonly seasoned: boolean }): VNode {
  return seasoned ? (
    <StatusBadge status="full" tone="good" />
  ) : (
    <StatusBadge status="limited" tone="neutral">
      At most 2 points
    </StatusBadge>
  )
}
