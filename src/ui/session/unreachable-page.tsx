/** The page that replaces all others while the daemon does not answer. */
import type { VNode } from 'preact'
import { Button } from '../components/button.tsx'
import { FrontPage } from './front-page.tsx'
import { readSession } from './sign-in.ts'

export function UnreachablePage({ message }: { readonly message: string }): VNode {
  return (
    <FrontPage title="Posthorn does not answer">
      <p>{message}</p>
      <Button tone="primary" onClick={readSession}>
        Try again
      </Button>
    </FrontPage>
  )
}
