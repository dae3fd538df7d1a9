//! Checks of all operations of the developer surface that require a key and no scope.

use super::*;

scripts! {
    reads_require_a_developer_key_and_no_scope r#"
        for <path> <status> in
          | /v1/me 200
          | /v1/balance 200
          | /v1/usage 200
          | /v1/avatar-1.0/avatars 200
          | /v1/avatar-1.0/avatars/ava_x 404
          | /v1/avatars 200
          | /v1/avatars/ava_x 404
          | /v1/avatar-videos 200
          | /v1/avatar-videos/avv_x 404
          | /v1/avatar-video-previews/pre_x 404
          | /v1/video-captions/cap_x 404
          | /v1/jobs/job_x/events 404
          for <client> in developer: developer:svc_open_demo developer:svc_revoked
            <client> GET <path> => 401 unauthorized next_action=authenticate
          developer x-api-key=svc_dev_demo <path> => 401 unauthorized next_action=authenticate
          developer:svc_dev_noscope GET <path> => <status>
    "#
    writes_require_a_developer_key_and_no_scope r#"
        for <path> in
          | /v1/avatar-1.0/generate
          | /v1/avatar-1.0/talking-video
          | /v1/image-1.0/generate
          | /v1/video-1.0/generate
          | /v1/music-1.0/generate
          | /v1/models/studio/avatar/v1.0/runs
          | /v1/models/studio/avatar-1.0/generate/runs
          | /v1/models/studio/avatar-1.0/talking-video/runs
          | /v1/models/studio/avatar-video/v1.0/runs
          | /v1/models/studio/avatar-face-swap/v1.0/runs
          | /v1/models/studio/image-1.0/runs
          | /v1/models/studio/video-1.0/runs
          | /v1/models/studio/music-1.0/runs
          | /v1/avatar-catalog/search
          | /v1/avatar-video-previews
          | /v1/video-captions
          | /v1/trending-videos/search
          | /v1/generation/admission-preview
          for <client> in developer: developer:svc_open_demo developer:svc_revoked
            <client> <path> {} => 401 unauthorized next_action=authenticate
          developer x-api-key=svc_dev_demo <path> {} => 401 unauthorized next_action=authenticate
          developer:svc_dev_noscope <path> {} => 400 invalid_request
          for <field> in colour workspace_id owner_user_id user_id
            developer <path> {"<field>": "x"} => 400 invalid_request <field>
        for <action> in regenerate generate-video
          developer: /v1/avatar-video-previews/pre_x/<action> {} => 401 unauthorized
          developer:svc_dev_noscope POST /v1/avatar-video-previews/pre_x/<action> => 404
        control /jobs => 200 #=0
    "#
}
