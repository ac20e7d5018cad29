/** The frame of pages without a session: one card in the middle. */
import type { ComponentChildren, VNode } from 'preact'
import { useEffect } from 'preact/hooks'
import { Logo } from '../components/logo.tsx'

interface FrontPageProps {
  readonly title: string
  readonly children: ComponentChildren
}

export function FrontPage({ title, children }: FrontPageProps): VNode {
  useEffect(() => {
    document.title = `${title} · Posthorn`
  }, [title])
  return (
    <main class="front">
      <Logo />
      <div class="front-card">
        <h1>{title}</h1>
        {children}
      </div>
    </main>
  )
}
