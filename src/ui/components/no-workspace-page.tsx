/** The page for users who belong to no workspace. */
import type { VNode } from 'preact'
import { Page } from './page.tsx'

export function NoWorkspacePage(): VNode {
  return (
    <Page title="No workspace" intro="You do not belong to a workspace. Ask an owner or admin of one to invite you.">
      {null}
    </Page>
  )
}
