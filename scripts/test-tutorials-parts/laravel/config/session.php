<?php

return ['driver' => 'array', 'cookie' => 'session', 'lifetime' => 120, 'lottery' => [2, 100], 'path' => '/'];
