/** The first page of a workspace: what needs attention, the numbers of mail, and the queue. */
import type { VNode } from 'preact'
import { useLoad } from '../../api/use-load.ts'
import { ButtonLink } from '../../components/button.tsx'
import { ChoiceBar, useChoice } from '../../components/choice-bar.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Page, Section } from '../../components/page.tsx'
import { DailyCharts, startOfDays } from '../metrics/daily-charts.tsx'
import { loadMailNumbers, MailFigures, type MailNumbers } from '../metrics/mail-figures.tsx'
import { NeedsAttention } from './needs-attention.tsx'
import './overview.css'
import { QueueNow } from './queue-now.tsx'

const ranges = ['7', '30', '90'].map((value) => ({ value, label: `${value} days` }))

/** Milliseconds between two loads of the numbers. */
const PAUSE = 60_000

export function OverviewPage(): VNode {
  const [days, chooseDays] = useChoice('days', ranges, '30')
  const numbers = useLoad(() => loadMailNumbers({ from: startOfDays(Number(days)) }), [days], { every: () => PAUSE })
  return (
    <Page title="Overview">
      <NeedsAttention />
      <Section
        title={`Mail of the last ${days} days`}
        intro="Opens, clicks and bounces count on the day on which their email was accepted."
        actions={<ChoiceBar label="Days that are shown" choices={ranges} chosen={days} onChoose={chooseDays} />}
      >
        <Loaded from={numbers}>{(found) => <Numbers numbers={found} />}</Loaded>
      </Section>
      <QueueNow />
    </Page>
  )
}

function Numbers({ numbers }: { readonly numbers: MailNumbers }): VNode {
  return (
    <>
      <MailFigures {...numbers} />
      <DailyCharts {...numbers.daily} />
      <div class="overview-more">
        <ButtonLink small href="/metrics">
          Metrics by domain, tag, provider and reason
        </ButtonLink>
        <ButtonLink small href="/links">
          Clicked links
        </ButtonLink>
      </div>
    </>
  )
}
